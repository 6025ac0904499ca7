/**
 * The packages that are published. `bundled`: with what it takes from ours, so that it depends on none of them. `types`: the
 * module of types of a bundled package that is written out (expand-types.mjs). `peers`: what only some of its doors need.
 *
 * `beside`: a program, published as its bundle, with the packages that the bundle leaves outside of itself.
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
