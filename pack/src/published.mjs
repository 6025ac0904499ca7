/**
 * The packages that are published. `types`: a module of types that is written out (expand-types.mjs); such a package is
 * bundled with what it takes from ours, and depends on none of them.
 *
 * @type {readonly { folder: string, types?: string }[]}
 */
export const published = [{ folder: 'packages/contract' }, { folder: 'packages/sdk', types: 'types' }];
