import { auditDrift } from '@belay/core';
import type { Connector, ListedEntitlement } from '@belay/providers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, type Cast, catalogWith, hour, minute, openCast, runOut } from './stories.js';

/** A real system with one access that ada may hold, and with what others do there without Belay. */
export interface Scene extends AsyncDisposable {
  connector: Connector;
  /** The provider `target`, and what the role `reader` gives at it. */
  provider: object;
  role: object;
  /** Returns whether ada has the access, by the system itself. */
  holds(): Promise<boolean>;
  /** Removes the access of ada by hand. */
  remove(): Promise<void>;
  /** Gives ada the access again by hand, as Belay had granted it. */
  putBack(): Promise<void>;
  /** Gives the access to another person, as another Belay would. Returns functions that read and undo it. */
  stranger(): Promise<{ holds(): Promise<boolean>; remove(): Promise<void> }>;
  /** Whether granted access has the mark of its row. */
  marks: boolean;
}

/** Returns the connector with a list that a test can delay: before the system is called, or after it has responded. */
function holdingBack(connector: Connector) {
  let gate = Promise.resolve();
  let held: 'question' | 'answer' | undefined;
  let arrived = () => {};
  const pass = async (what: 'question' | 'answer') => {
    if (held !== what) return;
    arrived();
    await gate;
  };
  const slow: Connector = {
    ...connector,
    async create(config, tools) {
      const client = await connector.create(config, tools);
      const { authorizer } = client;
      if (!authorizer?.list) throw new Error('The connector cannot list');
      const list = authorizer.list.bind(authorizer);
      return {
        ...client,
        authorizer: {
          ...authorizer,
          async *list(signal: AbortSignal) {
            await pass('question');
            const found: ListedEntitlement[] = [];
            for await (const one of list(signal)) found.push(one);
            await pass('answer');
            yield* found;
          },
        },
      };
    },
  };
  return {
    connector: slow,
    /** Delays lists; `arrived` resolves when one is delayed. */
    hold(what: 'question' | 'answer') {
      held = what;
      let release = () => {};
      gate = new Promise((resolve) => {
        release = resolve;
      });
      const reached = new Promise<void>((resolve) => {
        arrived = resolve;
      });
      return {
        arrived: reached,
        release() {
          held = undefined;
          release();
        },
      };
    },
  };
}

/** Declares what the drift audit finds at a real system, and what it leaves alone (docs/architecture.md, section 8). */
export function driftAt(name: string, open: () => Promise<Scene>): void {
  describe(`the drift audit at ${name}`, () => {
    let scene: Scene;
    let cast: Cast;
    let slow: ReturnType<typeof holdingBack>;
    beforeAll(async () => {
      scene = await open();
      slow = holdingBack(scene.connector);
      const base = catalogWith({}, { providers: ['target'], ...scene.role });
      const catalog = { ...base, providers: { target: scene.provider } };
      cast = await openCast({ catalog, connectors: [slow.connector] });
      await audit();
    });
    afterAll(async () => {
      await cast[Symbol.asyncDispose]();
      await scene[Symbol.asyncDispose]();
    });

    const audit = () => auditDrift(cast.house.ctx, AbortSignal.timeout(120_000));
    let heard = 0;
    /** Returns the differences that were reported since the last call, oldest first. */
    const news = async () => {
      const { sql } = cast.house.database;
      const rows = await sql`select data ->> 'kind' as kind from ledger where type = 'drift.found' order by seq`;
      const fresh = rows.slice(heard);
      heard = rows.length;
      return fresh.map(({ kind }) => String(kind));
    };
    /** Audits everything, one interval later. Returns the new differences. */
    const auditLater = async () => {
      await cast.house.database.advance(hour + minute);
      while ((await audit()) !== null);
      await cast.house.work();
      return news();
    };
    /** Audits, and does `work` meanwhile: before the system lists what it holds, or before its response arrives. */
    const auditAround = async (what: 'question' | 'answer', work: () => Promise<unknown>) => {
      await cast.house.database.advance(hour + minute);
      const { arrived, release } = slow.hold(what);
      const late = audit();
      await Promise.race([arrived, late]);
      await work();
      release();
      expect(await late).toBe('target');
      await cast.house.work();
    };
    const take = (duration: string) => ask(cast.house, cast.ada, { workflow: 'automatic', duration });

    it('finds nothing in what is as it should be, while it is held and afterwards', async () => {
      await take('PT2H');
      expect(await scene.holds()).toBe(true);
      expect(await auditLater()).toEqual([]);
      expect(await scene.holds()).toBe(true);
      await runOut(cast.house);
      expect([await scene.holds(), await auditLater()]).toEqual([false, []]);
    });

    it('tells of what was removed by hand, and does not grant it again', async () => {
      await take('PT2H');
      await scene.remove();
      expect([await auditLater(), await scene.holds()]).toEqual([['missing'], false]);
      await runOut(cast.house);
      expect(await auditLater()).toEqual([]);
    });

    it('tells once of what another granted, and touches it never', async () => {
      const stranger = await scene.stranger();
      expect(await auditLater()).toEqual(['unknown']);
      expect(await auditLater()).toEqual([]);
      expect(await stranger.holds()).toBe(true);
      await stranger.remove();
    });

    it('tells of what was put back after its end, and revokes it where it has the mark of its row', async () => {
      await take('PT1H');
      await runOut(cast.house);
      await scene.putBack();
      expect([await auditLater(), await scene.holds()]).toEqual([['leftover'], !scene.marks]);
      await scene.remove();
      await runOut(cast.house);
      expect(await auditLater()).toEqual([]);
    });

    describe.each(['question', 'answer'] as const)('with a late %s', (what) => {
      it('takes nothing that was granted meanwhile', async () => {
        await auditAround(what, () => take('PT2H'));
        expect([await scene.holds(), await news(), await auditLater()]).toEqual([true, [], []]);
      });

      it('finds nothing left of what ended meanwhile', async () => {
        await auditAround(what, async () => {
          expect(await scene.holds()).toBe(true);
          await runOut(cast.house);
        });
        expect([await scene.holds(), await news(), await auditLater()]).toEqual([false, [], []]);
      });
    });
  });
}
