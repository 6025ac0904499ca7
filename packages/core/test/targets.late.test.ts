import type { Course, Sighting } from '@belay/providers';
import { expect, it } from 'vitest';
import { anyMark, doubts, judge } from '../src/catalog/judge.js';

const sighting: Sighting = {
  target: 'a directory',
  unsettling: null,
  instance: null,
  position: '2',
  mark: null,
  otherMarks: [],
};
const memory = { position: '1', mark: null, nextMark: null, doubt: null };
const judged = (
  course: Course,
  known: { memory?: typeof memory | null; row?: string | null; latest?: Sighting | null },
) => judge(() => course, sighting, { memory: null, row: null, latest: null, ...known });

it('another server of a system that has not heard of everything yet settles nothing, and is asked again', () => {
  for (const known of [{ memory }, { row: '1' }, { latest: sighting }]) {
    expect(judged('late', known)).toEqual({ is: 'doubted', doubt: 'late' });
    expect(judged('behind', known)).toEqual({ is: 'doubted', doubt: 'earlier' });
    expect(judged('ahead', known)).toMatchObject({ is: 'believed' });
  }
  expect([doubts.late.lasts, doubts.earlier.lasts]).toEqual([false, true]);
});

it('a mark that a restore has forgotten excuses another mark, and no fork of the history', () => {
  const forgotten = { ...memory, mark: anyMark };
  for (const mark of [null, '3.other']) {
    const of = (course: Course) =>
      judge(() => course, { ...sighting, mark }, { memory: forgotten, row: null, latest: null });
    expect(of('ahead')).toEqual({ is: 'believed', marked: false, forked: false });
    expect(of('forked')).toEqual({ is: 'doubted', doubt: 'forked' });
  }
});
