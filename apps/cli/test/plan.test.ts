import { describe, expect, it } from 'vitest';
import { describePlan } from '../src/commands/plan.js';

const change = (role: string, after = 'approval by 2 of the group leads, for PT1H') => ({
  role,
  change: 'changed' as const,
  terms: [{ term: 'workflows', before: 'one 1', after: 'one 2' }],
  people: [{ who: 'the group engineers', workflow: 'one', before: 'approval by the group leads, for PT1H', after }],
});

describe('the Markdown of belay plan', () => {
  it('tells roles that change alike once, so that it fits into a comment of a pull request', () => {
    const roles = [
      ...Array.from({ length: 500 }, (_, nth) => change(`role-${nth}`)),
      change('other', 'cannot be requested'),
    ];
    const text = describePlan({ ok: true, roles, systems: [], past: null });
    expect(text.split('\n')).toEqual([
      '- 500 roles **role-0**, **role-1**, **role-2**, **role-3**, **role-4**, **role-5**, **role-6**, **role-7**, **role-8**, **role-9** and 490 more (--json names them) changed',
      '  - workflows: one 1 → one 2',
      '  - the group engineers, by one: approval by the group leads, for PT1H → approval by 2 of the group leads, for PT1H',
      '- role **other** changed',
      '  - workflows: one 1 → one 2',
      '  - the group engineers, by one: approval by the group leads, for PT1H → cannot be requested',
    ]);
  });

  it('counts the past requests that would need more approvals', () => {
    const past = { count: 20, more: false, rejected: 2, otherwise: 15, more_approvals: 14, unknown: 0, examples: [] };
    expect(describePlan({ ok: true, roles: [], systems: [], past })).toBe(
      '- of 20 past requests: 2 would be rejected, 14 would need more approvals, 1 would be decided differently, 0 are not known',
    );
  });
});
