/** The systems where access is held. Both are databases of one PostgreSQL, each behind a proxy of its own. */
export const targets = ['one', 'two'] as const;
export type TargetName = (typeof targets)[number];

/** How many entitlements are owed at the silent target: each of these people holds each of these roles. */
export const debtors = ['debtor0', 'debtor1', 'debtor2', 'debtor3'];
export const debts = Array.from({ length: 25 }, (_, index) => `owed${index}`);

/** What each role of the configuration grants, as `<target>/<database role>`, and the workflow that it goes through. */
export const roles: Record<string, { grants: string[]; workflow: string }> = {
  one: { grants: ['one/chaos_one'], workflow: 'automatic' },
  two: { grants: ['two/chaos_two'], workflow: 'automatic' },
  both: { grants: ['one/chaos_both_one', 'two/chaos_both_two'], workflow: 'automatic' },
  askedone: { grants: ['one/chaos_asked_one'], workflow: 'approved' },
  askedtwo: { grants: ['two/chaos_asked_two'], workflow: 'approved' },
  signalled: { grants: ['two/chaos_signalled'], workflow: 'signalled' },
  long: { grants: ['two/chaos_long'], workflow: 'long' },
  loop: { grants: ['two/chaos_loop'], workflow: 'loop' },
  slow: { grants: ['two/chaos_slow'], workflow: 'slow' },
  endless: { grants: ['two/chaos_endless'], workflow: 'endless' },
  ...Object.fromEntries(debts.map((name) => [name, { grants: [`one/chaos_${name}`], workflow: 'automatic' }])),
};

/** The type of the event that a signalled request waits for. */
export const goAhead = 'chaos.go';
