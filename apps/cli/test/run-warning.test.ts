import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Belay, openBelay } from './support/belay.js';
import type { Ran } from './support/run.js';

const role = { providers: ['store'], inherits: ['store:read'], workflows: ['automatic'], reason: { required: false } };
const minute = 60_000;

let belay: Belay;
/** The time of the clocks of the command and the server; it only moves forward. */
let now = Date.now();

beforeAll(async () => {
  const roles = Object.fromEntries(
    ['PT1H', 'PT20M', 'PT9M'].map((duration) => [
      duration,
      { ...role, max_duration: duration, default_duration: duration },
    ]),
  );
  belay = await openBelay((document) => ({ ...document, roles: { ...document.roles, ...roles } }));
  await belay.world.database.setTime(new Date(now));
});
afterAll(() => belay[Symbol.asyncDispose]());

/**
 * Runs a command that ends after this number of pauses of a minute or more, which take no time. The clocks stand still between the pauses.
 * `each` is awaited after each pause, with the id of the latest request.
 */
async function run(
  args: string[],
  pauses: number,
  each: (count: number, id: string) => unknown = () => {},
): Promise<Ran> {
  const { database } = belay.world;
  let count = 0;
  let end: (code: number) => void = () => {};
  const ended = new Promise<number>((resolve) => {
    end = resolve;
  });
  if (pauses === 0) end(0);
  return belay.terminal.run(['run', ...args, '--', 'true'], {
    clock: () => new Date(now),
    async delay(milliseconds, signal) {
      // A pause of the heartbeat, which these runs do not need.
      if (milliseconds < minute) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
        return;
      }
      now += milliseconds;
      count += 1;
      await database.advance(milliseconds);
      const [row] = await database.sql<{ id: string }[]>`select id from executions order by created_at desc limit 1`;
      await each(count, row?.id ?? '');
      if (count === pauses) end(0);
    },
    programs: { start: () => ({ ended, signal: () => {} }), onSignal: () => () => {} },
  });
}

const warnings = ({ stderr }: Ran) => [...stderr.matchAll(/the access ends in (\w+)/g)].map(([, left]) => left);

describe('belay run, before the access ends', () => {
  it('says so 15 and 5 minutes before, on standard error, with how to extend it', async () => {
    const ran = await run(['PT1H'], 3);
    expect(warnings(ran)).toEqual(['15m', '5m']);
    expect(ran.stderr).toMatch(/belay: the access ends in 15m, at \S+Z; for longer: belay extend [0-9a-f-]{36}\n/);
    expect([ran.stdout, ran.code]).toEqual(['', 0]);
  });

  it.each([
    ['PT20M', ['5m']],
    ['PT9M', []],
  ])('says it not so soon of short access: %s', async (name, expected) => {
    expect(warnings(await run([name], expected.length + 1))).toEqual(expected);
  });

  it('counts from the new end when the access is extended meanwhile', async () => {
    let extended: Ran | undefined;
    const ran = await run(['PT1H'], 5, async (count, id) => {
      if (count === 2) extended = await belay.terminal.run(['extend', id, '--for', '1h']);
    });
    expect(extended).toMatchObject({ code: 0 });
    expect(warnings(ran)).toEqual(['15m', '15m', '5m']);
  });

  it('goes by what it knew while the server is away', async () => {
    const ran = await run(['PT1H'], 3, (count) => {
      belay.between.state = count < 3 ? 'away' : 'there';
    });
    expect(warnings(ran)).toEqual(['15m', '5m']);
  });

  it('says neither its progress nor its outcome with --quiet', async () => {
    expect(await run(['PT1H', '--quiet'], 0)).toEqual({ code: 0, stderr: '', stdout: '' });
  });
});
