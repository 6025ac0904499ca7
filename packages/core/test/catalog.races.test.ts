import { applyCatalog, getExecution } from '@belay/core';
import { performStep } from '@belay/engine';
import { type Connector, createRegistry } from '@belay/providers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { heldBeforeCommit, someoneWaits } from './support/gate.js';
import { type Keeper, keeperHouse } from './support/keeper.js';
import { beginOnly, type Cast, openCast, request, second } from './support/stories.js';

describe('a provider that leaves the configuration while access is granted there', () => {
  let cast: Cast;
  let other: Keeper;
  let connectors: Connector[];
  /** The configuration in force without the provider `other`. */
  let without: object;

  beforeEach(async () => {
    const { options, keepers } = keeperHouse(['kept', 'other']);
    other = keepers[1] as Keeper;
    connectors = options.connectors ?? [];
    const catalog = options.catalog as { providers: Record<string, object>; roles: Record<string, object> };
    without = { ...catalog, providers: { kept: catalog.providers.kept }, roles: { reader: catalog.roles.reader } };
    cast = await openCast(options);
  });
  afterEach(() => cast[Symbol.asyncDispose]());
  const stepOf = async (executionId: string) => {
    const [row] = await cast.house.database
      .sql`select key from steps where execution_id = ${executionId} and status = 'open'`;
    return { executionId, key: row?.key as string };
  };
  const apply = (db = cast.house.ctx.db) =>
    applyCatalog(
      db,
      { document: without, source: 'test' },
      { connectors: createRegistry(connectors), resolve: () => undefined },
    );

  /** Performs work that would grant access while a configuration without its provider is about to be stored. Nothing is granted. */
  const applyFirst = async (perform: (executionId: string) => Promise<unknown>) => {
    const { house, ada } = cast;
    const id = await request(ada, { workflow: 'automatic', role: 'elsewhere' });
    const gate = heldBeforeCommit(house.ctx);
    const applying = apply(gate.ctx.db);
    await gate.reached;
    const performing = perform(id);
    await someoneWaits(house);
    gate.open();
    await Promise.all([applying, performing]);
    expect((await getExecution(ada, { id })).grants).toEqual([]);
    await house.catalog.refresh();
    await house.pass(5 * second);
    expect(other.state.held()).toEqual([]);
    expect(other.state.count('ensurePresent')).toBe(0);
  };

  /** Stores a configuration without the provider while an intent holds the lock of the configuration, and waits for the execution. */
  const intendFirst = async (id: string, perform: () => Promise<unknown>) => {
    const { house } = cast;
    const holder = await house.database.sql.reserve();
    await holder`begin`;
    await holder`select from executions where id = ${id} for update`;
    const performing = perform();
    await someoneWaits(house);
    const applying = apply().catch((error: unknown) => error);
    await someoneWaits(house, 2);
    await holder`commit`;
    holder.release();
    await performing;
    expect(await applying).toMatchObject({ issues: [{ path: 'providers.other' }] });
    expect(other.state.held()).toHaveLength(1);
  };

  it('is kept when the intent was first', async () => {
    const { house, ada } = cast;
    const id = await request(ada, { workflow: 'automatic', role: 'elsewhere' });
    await beginOnly(house, id);
    await intendFirst(id, async () => performStep(house.ctx, await stepOf(id)));
  });

  it('gets no grant when the configuration was first', async () => {
    await applyFirst(async (id) => performStep(cast.house.ctx, await stepOf(id)));
  });

  describe('in the statement that begins an execution', () => {
    const turn = (executionId: string) => ({ executionId, key: '/' });

    it('is kept when the intent was first', async () => {
      const id = await request(cast.ada, { workflow: 'automatic', role: 'elsewhere' });
      await intendFirst(id, () => performStep(cast.house.ctx, turn(id), { leased: true }));
    });

    it('gets no grant when the configuration was first', async () => {
      await applyFirst((id) => performStep(cast.house.ctx, turn(id), { leased: true }));
    });
  });
});
