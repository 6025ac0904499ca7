/**
 * The packages that are published. `types`: a module of types that is written out (expand-types.mjs); such a package is
 * bundled with what it takes from ours, and depends on none of them.
 *
 * `beside`: a program, published as its bundle, with the packages that the bundle leaves outside of itself.
 *
 * @type {readonly { folder: string, types?: string, beside?: readonly string[] }[]}
 */
export const published = [
  { folder: 'packages/contract' },
  { folder: 'packages/sdk', types: 'types' },
  { folder: 'apps/cli', beside: ['jq-web'] },
];
