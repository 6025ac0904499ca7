import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Agenda, createAgenda } from '../src/agenda.js';

const start = Date.UTC(2026, 0, 1);

describe('the agenda of a worker', () => {
  let agenda: Agenda;
  let done: string[];
  const does = (name: string) => () => void done.push(name);

  beforeEach(() => {
    vi.useFakeTimers({ now: start });
    agenda = createAgenda({ clock: () => new Date() });
    done = [];
  });
  afterEach(() => {
    agenda.close();
    vi.useRealTimers();
  });

  it('does each thing at its time, and once', () => {
    agenda.add('later', start + 200, does('later'));
    agenda.add('soon', start + 100, does('soon'));
    agenda.add('soon', start + 100, does('soon again'));
    agenda.add('past', start - 1_000, does('past'));
    vi.advanceTimersByTime(1);
    expect(done).toEqual(['past']);
    vi.advanceTimersByTime(99);
    expect(done).toEqual(['past']);
    vi.advanceTimersByTime(101);
    expect(done).toEqual(['past', 'soon', 'later']);
    agenda.add('soon', start + 300, does('soon, the next'));
    vi.advanceTimersByTime(200);
    expect(done.at(-1)).toBe('soon, the next');
  });

  it('uses the clock of the database, and never runs ahead of it', () => {
    // The response took 10 ms, so the database's clock is 995 to 1005 ms behind ours; 1005 is never ahead of it.
    agenda.compare(start - 10, start - 1_005, start);
    expect(agenda.now()).toBe(start - 1_005);
    agenda.add('due', start, does('due'));
    vi.advanceTimersByTime(1_004);
    expect(done).toEqual([]);
    vi.advanceTimersByTime(2);
    expect(done).toEqual(['due']);
  });

  it('uses the fastest response until the clocks are changed', () => {
    agenda.compare(start - 2, start - 1, start);
    agenda.compare(start - 500, start - 400, start);
    expect(agenda.now()).toBe(start - 1);
    // The database's clock was set back by a minute.
    agenda.compare(start - 2, start - 60_001, start);
    expect(agenda.now()).toBe(start - 60_001);
    // The database's clock was set forward by two minutes.
    agenda.compare(start - 2, start + 60_000, start);
    expect(agenda.now()).toBe(start + 60_000);
  });

  it('keeps a bounded number, and drops all when it is closed', () => {
    for (let entry = 0; entry < 10_500; entry += 1) agenda.add(`${entry}`, start + 10, does(`${entry}`));
    expect(vi.getTimerCount()).toBe(10_000);
    agenda.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});
