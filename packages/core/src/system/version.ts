import type { Context } from '../context.js';

/** The program's version, with its source revision where it is known (interface, Versioning 3). */
export function programVersion(ctx: Pick<Context, 'program'>): string {
  const { version, revision } = ctx.program;
  return revision ? `${version} (git: ${revision})` : version;
}
