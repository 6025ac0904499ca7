import type { Store } from '../context.js';

/** Returns whether decisions about a role count only when they are made in Belay itself. */
export function mustDecideOnPage(ctx: Store, role: string): boolean {
  return ctx.catalog.current().roles.get(role)?.definition.decide_on_page === true;
}
