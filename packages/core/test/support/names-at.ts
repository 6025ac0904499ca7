import { getExecution, returnAccess } from '@belay/core';
import type { Connector } from '@belay/providers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approve, ask, type Cast, catalogWith, hour, minute, openCast, runOut } from './stories.js';

/** A real system, or an emulator of one, with one access that ada may hold. */
export interface NamesScene extends AsyncDisposable {
  connector: Connector;
  /** The provider `target`, and what the role `reader` gives at it. */
  provider: object;
  role: object;
  /** The time at the system, where it has a clock of its own. */
  time?: string;
  /** Returns whether ada has the access, by the system itself. */
  holds(): Promise<boolean>;
  /** Renames ada's account, or what the access names. Returns the provider and the role with the new names. */
  rename?(): Promise<{ provider?: object; role?: object }>;
  /** Gives the access privileges that Belay does not grant. */
  raise?(): Promise<void>;
}

/** Declares that calls act by what was committed, at a real system, and by nothing that a row or a later request says. */
export function namesAt(name: string, open: () => Promise<NamesScene>): void {
  describe(`what was committed is what is granted and revoked at ${name}`, { timeout: 120_000 }, () => {
    let scene: NamesScene;
    let cast: Cast;
    const catalogOf = (provider: object, role: object) => ({
      ...catalogWith({}, { providers: ['target'], ...role }),
      providers: { target: provider },
    });
    beforeEach(async () => {
      scene = await open();
      const { connector, provider, role, time } = scene;
      cast = await openCast({ catalog: catalogOf(provider, role), connectors: [connector], ...(time ? { time } : {}) });
    });
    afterEach(async () => {
      await cast?.[Symbol.asyncDispose]();
      await scene?.[Symbol.asyncDispose]();
    });

    const take = (duration: string) => ask(cast.house, cast.ada, { workflow: 'automatic', duration });
    const mislabel = () =>
      cast.house.database.sql`update entitlements set identity = 'nonsense', access = '{"nonsense": true}'`;
    const settle = async () => {
      await cast.house.work();
      await cast.house.pass(5 * minute);
    };
    const states = async () =>
      (await cast.house.database.sql`select state from entitlements`).map(({ state }) => state);

    it('while the labels of its row say something else', async () => {
      const id = await take('PT2H');
      expect(await scene.holds()).toBe(true);
      await mislabel();
      await cast.house.database.sql`update entitlements set state = 'granting', due_at = app_now()`;
      await settle();
      expect(await scene.holds()).toBe(true);
      await returnAccess(cast.ada, { execution_id: id });
      await settle();
      expect(await scene.holds()).toBe(false);
      await runOut(cast.house);
      expect([await scene.holds(), await states()]).toEqual([false, ['absent']]);
    });

    it('when it was renamed between two requests that overlap, in either order of their ends', async () => {
      if (!scene.rename) return;
      for (const [first, later] of [
        ['PT1H', 'PT2H'],
        ['PT2H', 'PT1H'],
      ] as const) {
        const one = await take(first);
        const named = await scene.rename();
        await cast.house.applyCatalog(catalogOf(named.provider ?? scene.provider, named.role ?? scene.role));
        const other = await take(later);
        for (const id of [one, other])
          expect((await getExecution(cast.ada, { id })).grants).toMatchObject([{ state: 'active' }]);
        await mislabel();
        await cast.house.pass(hour + minute);
        expect(await scene.holds()).toBe(true);
        await cast.house.pass(hour + minute);
        expect(await scene.holds()).toBe(false);
        await runOut(cast.house);
        expect([await scene.holds(), await states()]).toEqual([false, ['absent']]);
      }
    });

    it('and is not granted when it was given privileges after its approval', async () => {
      if (!scene.raise) return;
      const id = await ask(cast.house, cast.ada, { workflow: 'approved' });
      await scene.raise();
      await approve(cast.grace, id);
      await settle();
      expect([await scene.holds(), (await getExecution(cast.ada, { id })).status]).toEqual([false, 'faulted']);
      await runOut(cast.house);
      expect((await states()).filter((state) => state !== 'absent')).toEqual([]);
    });
  });
}
