import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type ActorContext, applyCatalog, breatheBy, openCatalog, searchRoles, suggestElevation } from '@belay/core';
import { type Connector, createRegistry } from '@belay/providers';
import { createMemoryConnector } from '@belay/providers/testkit';
import { catalogWith } from './belay/catalog.js';
import { openBench } from './setup.js';

export interface Held {
  what: string;
  milliseconds: number;
  /** The longest time for which the event loop was blocked, in milliseconds. */
  longest: number;
}

/** Measures how long a catalog of many roles takes, and how long it blocks the event loop of its process at a time. */
export async function measureLargeCatalog(roles: number): Promise<Held[]> {
  const bench = await openBench({ people: 1 });
  const [person] = bench.people;
  if (!person) throw new Error('The benchmark needs people');
  const connectors = createRegistry([
    createMemoryConnector() as Connector,
    { ...createMemoryConnector(), type: 'silent' } as Connector,
  ]);
  const breathe = breatheBy(() => performance.now());
  const resolve = () => undefined;
  const { db, log, timing, delay } = bench.ctx;
  const document = { ...catalogWith(), roles: manyRoles(roles) };
  const held: Held[] = [];
  const measure = async <T>(what: string, work: () => T | Promise<T>): Promise<T> => {
    await delay(50);
    const monitor = monitorEventLoopDelay({ resolution: 1 });
    monitor.enable();
    const started = performance.now();
    const made = await work();
    const milliseconds = performance.now() - started;
    await delay(5);
    monitor.disable();
    held.push({ what, milliseconds, longest: monitor.max / 1e6 });
    return made;
  };
  try {
    await measure('Compiled and stored', () =>
      applyCatalog(db, { document, source: 'bench' }, { connectors, resolve, breathe }),
    );
    const catalog = await measure('Read, compiled and taken in force', () =>
      openCatalog({ db, connectors, resolve, log, timing, delay, breathe, now: Date.now }),
    );
    const groups = Array.from({ length: 100 }, (_, index) => `team-${index}`);
    const ctx: ActorContext = { ...person, catalog, actor: { ...person.actor, groups } };
    await measure('The first page of 50', () => searchRoles(ctx, { limit: 50 }));
    await measure('Another page of 50', () => searchRoles(ctx, { limit: 50 }));
    const one: ActorContext = { ...ctx, actor: { ...person.actor, groups: ['team-7'] } };
    await measure('The first suggestion', () => suggestElevation(one, { reason: 'role number 77 of team 7' }));
    await measure('Another suggestion', () => suggestElevation(one, { reason: 'role number 77 of team 7' }));
    await catalog.close();
    return held;
  } finally {
    await bench.close();
  }
}

function manyRoles(count: number): Record<string, object> {
  const role = (index: number) => ({
    description: `Role number ${index} of team ${index % 100}, which may read and change its part of production`,
    providers: ['memory'],
    workflows: ['grant'],
    inherits: [`memory:role-${index}`, ...(index >= 100 ? [`team-${index % 100}-role-${index % 100}`] : [])],
    permissions: { groups: [`team-${index % 100}`] },
    max_duration: 'PT8H',
    default_duration: 'PT1H',
    reason: { required: true, pattern: '^OPS-[0-9]+' },
  });
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [`team-${index % 100}-role-${index}`, role(index)]),
  );
}
