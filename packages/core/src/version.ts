import type { Context } from './context.js';

/** The program's version, with its source revision where it is known (docs/interface.md, section 15, rule 3). */
export function programVersion(ctx: Pick<Context, 'program'>): string {
  const { version, revision } = ctx.program;
  return revision ? `${version} (git: ${revision})` : version;
}
