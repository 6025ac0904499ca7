import { describe, expect, it } from 'vitest';
import type { AccessRequest, Attempt, FaultWindow, History } from '../src/history.js';
import { judge, type Rule } from '../src/judge/judge.js';
import { isHeld } from '../src/report.js';

const second = 1_000;
/** Returns the time that is so many seconds after the run began. */
const at = (seconds: number) => 1_700_000_000_000 + seconds * second;
const holding = 'ada one/reader';

/** Returns a request that was sent at 10 s, was active at 11 s, and ends at 20 s. */
function requested(changes: Partial<AccessRequest> = {}): AccessRequest {
  return {
    key: 'ada-1',
    person: 'ada',
    holdings: [holding],
    duration: 9 * second,
    sentAt: at(10),
    acknowledgedAt: at(10.1),
    ids: ['x1'],
    mayHoldFrom: at(10),
    activeAt: at(11),
    expiresAt: at(20),
    endSentAt: null,
    endedAt: null,
    goneAt: at(20.5),
    final: { state: 'ended', status: 'completed', detail: '' },
    expected: ['completed'],
    races: false,
    ...changes,
  };
}

/** Returns a run of 100 s in which the access of that request was held for exactly as long as it should be. */
function lived(changes: Partial<History> = {}): History {
  return {
    startedAt: at(0),
    endedAt: at(100),
    clock: [],
    faults: [],
    requests: [requested()],
    attempts: [],
    held: { [holding]: [{ from: at(10.5), to: at(20) }] },
    blind: [],
    deaths: [],
    unanswered: [],
    written: { ada: ['x1'] },
    ...changes,
  };
}

function fault(changes: Partial<FaultWindow> = {}): FaultWindow {
  return {
    name: 'a fault',
    scope: 'everything',
    from: at(15),
    healed: at(18),
    lease: false,
    database: false,
    recovered: {},
    ...changes,
  };
}

function attempt(changes: Partial<Attempt> = {}): Attempt {
  return { server: 'server1', operation: 'request', at: at(30), took: 20, outcome: 200, expected: true, ...changes };
}

/** Returns the rules that a run broke. */
function broken(history: History): Rule[] {
  return (Object.entries(judge(history).wrong) as [Rule, string[]][])
    .filter(([, found]) => found.length > 0)
    .map(([rule]) => rule);
}

const heldFor = (...spans: [number, number][]) => ({
  held: { [holding]: spans.map(([from, to]) => ({ from: at(from), to: at(to) })) },
});

describe('the judge', () => {
  it('finds nothing wrong in a run in which everything was held as it was answered', () => {
    expect(broken(lived())).toEqual([]);
  });

  it('sees what is held and was never requested, such as a grant by hand', () => {
    expect(
      broken(lived({ held: { 'eve one/reader': [{ from: at(3), to: at(4) }] }, requests: [], written: {} })),
    ).toEqual(['unrequested']);
  });

  it('sees what is held before its approval was sent', () => {
    expect(broken(lived({ requests: [requested({ mayHoldFrom: at(12) })] }))).toContain('unrequested');
  });

  it('sees what is held although it was denied', () => {
    const denied = requested({ mayHoldFrom: null, activeAt: null, expiresAt: null });
    expect(broken(lived({ requests: [denied] }))).toContain('unrequested');
  });

  it.each([
    ['21.9 s without a fault', [], 21.9, false],
    ['22.1 s without a fault', [], 22.1, true],
    ['28 s after a fault that healed at 18 s', [fault()], 28, false],
    ['30.1 s after a fault that healed at 18 s', [fault()], 30.1, true],
    ['22.1 s after a fault at another target', [fault({ scope: { target: 'two' } })], 22.1, true],
    ['22.1 s beside a workflow that is a burden', [fault({ scope: 'nothing' })], 22.1, true],
    ['60 s after a worker with a lease was killed', [fault({ lease: true, healed: at(15) })], 59.9, false],
    ['65.1 s after a worker with a lease was killed', [fault({ lease: true, healed: at(15) })], 65.1, true],
  ])('judges an end at 20 s that comes after %s', (_, faults, end, isWrong) => {
    expect(broken(lived({ faults, requests: [requested({ goneAt: null })], ...heldFor([10.5, end]) }))).toEqual(
      isWrong ? ['overstayed'] : [],
    );
  });

  it('allows no lease for what was requested after the worker was killed', () => {
    const killed = fault({ lease: true, from: at(5), healed: at(5) });
    const history = lived({ faults: [killed], requests: [requested({ goneAt: null })], ...heldFor([10.5, 31]) });
    expect(broken(history)).toEqual(['overstayed']);
  });

  it('counts from an acknowledged return, which comes before the end', () => {
    const returned = requested({ endSentAt: at(14), endedAt: at(14.1), goneAt: null });
    expect(broken(lived({ requests: [returned] }))).toEqual(['overstayed']);
  });

  it('sees what is held when an answer said that it is gone', () => {
    expect(broken(lived({ requests: [requested({ goneAt: at(20.5) })], ...heldFor([10.5, 21]) }))).toEqual([
      'overstayed',
    ]);
  });

  it('sees an end that is later than what was requested', () => {
    const longer = requested({ expiresAt: at(21), goneAt: null });
    expect(broken(lived({ requests: [longer], ...heldFor([10.5, 21]) }))).toEqual(['overstayed']);
    expect(
      broken(lived({ requests: [longer], clock: [{ at: at(3), offset: second }], ...heldFor([10.5, 20]) })),
    ).toEqual([]);
  });

  it('sees a grant that lands after its end', () => {
    expect(broken(lived(heldFor([10.5, 20], [30, 31])))).toEqual(['overstayed']);
  });

  it.each([
    ['0.2 s without a fault', [], 14.2, false],
    ['0.5 s without a fault', [], 14.5, true],
    ['2 s beside a fault', [fault({ from: at(14) })], 16, false],
  ])('judges active access that is missing for %s', (_, faults, back, isWrong) => {
    expect(broken(lived({ faults, ...heldFor([10.5, 14], [back, 20]) }))).toEqual(isWrong ? ['missing'] : []);
  });

  it('says nothing of the time in which the target was not sampled', () => {
    expect(broken(lived({ blind: [{ from: at(14), to: at(16) }], ...heldFor([10.5, 14], [16, 20]) }))).toEqual([]);
  });

  it('sees active access that never was at the target', () => {
    expect(broken(lived({ held: {} }))).toContain('missing');
  });

  it('sees what is granted too late', () => {
    expect(broken(lived({ requests: [requested({ activeAt: null })], ...heldFor([20, 20]) }))).toEqual([]);
    const late = requested({ activeAt: null, expiresAt: at(40), goneAt: null });
    expect(broken(lived({ requests: [late], ...heldFor([20.5, 40]) }))).toEqual(['slow']);
  });

  it('sees what is granted too late beside a workflow that is a burden', () => {
    const burden = [fault({ scope: 'nothing', from: at(9), healed: at(25) })];
    const late = requested({ duration: 30 * second, activeAt: null, expiresAt: at(40), goneAt: null });
    expect(broken(lived({ faults: burden, requests: [late], ...heldFor([20, 40]) }))).toEqual([]);
    expect(broken(lived({ faults: burden, requests: [late], ...heldFor([20.5, 40]) }))).toEqual(['slow']);
  });

  it('sees a longer timer that has won, so that nothing was granted', () => {
    const raced = requested({ races: true, activeAt: null, expiresAt: null, goneAt: null });
    expect(broken(lived({ requests: [raced] }))).not.toContain('raced');
    expect(broken(lived({ requests: [raced], held: {} }))).toEqual(['raced']);
    const faulted = { ...raced, final: { state: 'failed', status: 'faulted', detail: 'timeout' } };
    expect(broken(lived({ requests: [faulted], held: {} }))).toEqual(['unfinished']);
  });

  it('gives what ends in the same second 10 s from then on at its target, and 2 s at the other', () => {
    const crowd = [fault({ scope: { target: 'one' }, from: at(20), healed: at(20) })];
    const ended = requested({ goneAt: null });
    expect(broken(lived({ faults: crowd, requests: [ended], ...heldFor([10.5, 30]) }))).toEqual([]);
    expect(broken(lived({ faults: crowd, requests: [ended], ...heldFor([10.5, 30.1]) }))).toEqual(['overstayed']);
    const elsewhere = { ...ended, holdings: ['ada two/reader'] };
    const held = { 'ada two/reader': [{ from: at(10.5), to: at(22.1) }] };
    expect(broken(lived({ faults: crowd, requests: [elsewhere], held }))).toEqual(['overstayed']);
  });

  it('counts no fault that began when the bound had passed, and each one that began before', () => {
    const late = requested({ duration: 50 * second, activeAt: null, expiresAt: at(60), goneAt: null });
    const faults = (...starts: number[]) => starts.map((from) => fault({ from: at(from), healed: at(from + 1) }));
    const judged = (...starts: number[]) =>
      broken(lived({ faults: faults(...starts), requests: [late], ...heldFor([37, 60]) }));
    expect(judged(12, 22, 32)).toEqual([]);
    expect(judged(12, 32)).toEqual(['slow']);
    const ended = (from: number) =>
      broken(lived({ faults: faults(from), requests: [requested({ goneAt: null })], ...heldFor([10.5, 24]) }));
    expect([ended(21.9), ended(22.1)]).toEqual([[], ['overstayed']]);
  });

  it('has a request for two targets wait for both, and a request for one for no other', () => {
    const faults = [fault({ scope: { target: 'two' }, from: at(10), healed: at(18) })];
    const late = { duration: 30 * second, activeAt: at(22), expiresAt: at(40), goneAt: at(40.5) };
    const both = requested({ ...late, holdings: [holding, 'ada two/reader'] });
    const held = { [holding]: [{ from: at(21.5), to: at(40) }], 'ada two/reader': [{ from: at(21.5), to: at(40) }] };
    expect(broken(lived({ requests: [both], faults, held }))).toEqual([]);
    expect(broken(lived({ requests: [requested(late)], faults, ...heldFor([21.5, 40]) }))).toEqual(['slow']);
  });

  it('sees what is still held at the end, as when every worker was stopped for ever', () => {
    expect(broken(lived({ requests: [requested({ goneAt: null })], ...heldFor([10.5, 100]) }))).toEqual([
      'overstayed',
      'left',
    ]);
  });

  it('follows a clock that is stepped: an end comes earlier, and after a step back later', () => {
    const forward = [{ at: at(12), offset: 5 * second }];
    expect(broken(lived({ clock: forward, ...heldFor([10.5, 15]) }))).toEqual([]);
    expect(broken(lived({ clock: forward }))).toEqual(['overstayed']);
    const back = [{ at: at(12), offset: -5 * second }];
    expect(broken(lived({ clock: back, requests: [requested({ goneAt: null })], ...heldFor([10.5, 25]) }))).toEqual([]);
    expect(broken(lived({ clock: back }))).toEqual(['missing']);
  });

  it('sees two executions for one key, whether answers or the log name them', () => {
    expect(broken(lived({ requests: [requested({ ids: ['x1', 'x2'] })] }))).toEqual(['doubled']);
    expect(broken(lived({ written: { ada: ['x1', 'x9'] } }))).toEqual(['doubled']);
  });

  it('sees an acknowledged execution that faulted, or never ended', () => {
    const faulted = requested({ final: { state: 'failed', status: 'faulted', detail: 'connection lost' } });
    const waiting = requested({ final: { state: 'active', status: 'waiting', detail: '' } });
    expect(broken(lived({ requests: [faulted], held: {} }))).toContain('unfinished');
    expect(broken(lived({ requests: [waiting] }))).toEqual(['unfinished']);
    expect(broken(lived({ unanswered: [{ operation: 'request', at: at(3) }] }))).toEqual(['unfinished']);
  });

  it('sees a process that ended by itself', () => {
    expect(broken(lived({ deaths: [{ process: 'worker1', at: at(9), how: '1' }] }))).toEqual(['died']);
  });

  it.each<[string, Partial<Attempt>, FaultWindow[], boolean]>([
    ['a 503 without a fault', { outcome: 503, expected: false }, [], true],
    ['a 503 during a fault', { outcome: 503, expected: false, at: at(16) }, [fault()], false],
    ['a 503 beside a workflow that is a burden', { outcome: 503, at: at(16) }, [fault({ scope: 'nothing' })], true],
    ['a 500 during a fault', { outcome: 500, expected: false, at: at(16) }, [fault()], true],
    ['a rejection that was not expected', { outcome: 409, expected: false }, [], true],
    ['a lost connection without a fault', { outcome: 'network', expected: false }, [], true],
    ['a lost connection during a fault', { outcome: 'network', expected: false, at: at(16) }, [fault()], false],
    ['a request of 15 s', { took: 15_000 }, [], false],
    ['a request of 15.1 s', { took: 15_100 }, [], true],
    ['a request of 10 s while the database fails', { took: 10_000, at: at(14) }, [fault({ database: true })], false],
    ['a request of 10.1 s while the database fails', { took: 10_100, at: at(14) }, [fault({ database: true })], true],
    [
      'a request of 10.1 s after the database failed',
      { took: 10_100, at: at(18.1) },
      [fault({ database: true })],
      false,
    ],
    ['a 503 after 10.1 s', { outcome: 503, expected: false, took: 10_100, at: at(16) }, [fault()], true],
    ['a probe of 250 ms', { operation: 'ready', took: 250 }, [], false],
    [
      'a probe of 250 ms beside a burden',
      { operation: 'ready', took: 250, at: at(16) },
      [fault({ scope: 'nothing' })],
      true,
    ],
    [
      'a slow denial during a fault of one target',
      { operation: 'deny', took: 2_500, at: at(16) },
      [fault({ scope: { target: 'one' } })],
      true,
    ],
  ])('judges %s', (_, changes, faults, isWrong) => {
    expect(broken(lived({ attempts: [attempt(changes)], faults }))).toEqual(
      isWrong ? [changes.took === undefined ? 'answers' : 'long'] : [],
    );
  });

  it('sees a recovery that took too long, or never came', () => {
    expect(broken(lived({ faults: [fault({ recovered: { server1: 9_900 } })] }))).toEqual([]);
    expect(broken(lived({ faults: [fault({ recovered: { server1: 10_100 } })] }))).toEqual(['recovery']);
    expect(broken(lived({ faults: [fault({ recovered: { one: null } })] }))).toEqual(['recovery']);
  });

  it('gives a recovery more time for another fault of the same part that began before its bound', () => {
    const lost = fault({ from: at(10), healed: at(12), recovered: { one: 15_000 } });
    const next = (from: number, part = 'one') =>
      fault({ from: at(from), healed: at(from + 6), recovered: { [part]: 9_000 } });
    expect(broken(lived({ faults: [lost, next(13)] }))).toEqual([]);
    expect(broken(lived({ faults: [lost, next(23)] }))).toEqual(['recovery']);
    expect(broken(lived({ faults: [lost, next(13, 'two')] }))).toEqual(['recovery']);
  });

  it('fails a run for its times only where they have to be held', () => {
    const late = judge(lived({ faults: [fault({ recovered: { one: null } })] }));
    expect([isHeld(late), isHeld(late, 'told')]).toEqual([false, true]);
    const died = judge(lived({ deaths: [{ process: 'worker1', at: at(9), how: '1' }] }));
    expect([isHeld(died), isHeld(died, 'told')]).toEqual([false, false]);
  });
});
