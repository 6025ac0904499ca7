/**
 * The packages that are published. `bundled`: with the code that it uses from our other packages, so that it depends on none of them.
 * `types`: the module of a bundled package whose types are written out (expand-types.mjs). `peers`: packages that only some of its entry
 * points need.
 *
 * `beside`: a program, published as its bundle, with the packages that the bundle does not contain.
 *
 * @type {readonly { folder: string, bundled?: boolean, types?: string, peers?: readonly string[], beside?: readonly string[] }[]}
 */
export const published = [
  { folder: 'packages/contract' },
  { folder: 'packages/sdk', bundled: true, types: 'types' },
  { folder: 'packages/providers', peers: ['vitest'] },
  { folder: 'packages/embedded-postgres', bundled: true },
  { folder: 'apps/cli', beside: ['jq-web'] },
];
