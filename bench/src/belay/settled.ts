import type { Belay } from './open.js';

/** Waits until nothing is due any more, and no claim is held. */
export async function settled({ ctx, observer }: Belay): Promise<void> {
  for (;;) {
    const [row] = await observer`
      select (select count(*) from steps where status = 'open' and (due_at <= app_now() or lease_until is not null))::int
        + (select count(*) from entitlements where state <> 'absent' and due_at <= app_now())::int as due`;
    if (row?.due === 0) return;
    await ctx.delay(20);
  }
}
