import { createLogin, openChanges } from '@belay/core';
import { type Belay, type BelayOptions, openBelay } from '../belay/open.js';
import { serveApp } from '../serve-app.js';
import type { HttpElevation } from './elevate.js';

export interface ServedBelay {
  belay: Belay;
  /** The address of the interface, and the tokens of each person and their approver. */
  access: Pick<HttpElevation, 'url'> & { tokens: HttpElevation['tokens'][] };
  close(): Promise<void>;
}

/** Opens a whole Belay, with its worker, and serves it over HTTP. */
export async function serveBelay(databaseUrl: string, options: BelayOptions): Promise<ServedBelay> {
  const belay = await openBelay(databaseUrl, options);
  const { ctx, people, approverOf } = belay;
  const changes = openChanges({ databaseUrl, log: ctx.log, delay: ctx.delay });
  const served = await serveApp({ ...ctx, changes });
  const tokenOf = async ({ actor }: (typeof people)[number]) =>
    (await createLogin(ctx, { user: actor, kind: 'device' })).token;
  const tokens = people.map(async (person) => ({
    requester: await tokenOf(person),
    approver: await tokenOf(approverOf(person)),
  }));
  return {
    belay,
    access: { url: `${served.url}/api/v1`, tokens: await Promise.all(tokens) },
    async close() {
      served.close();
      await changes.close();
      await belay.close();
    },
  };
}
