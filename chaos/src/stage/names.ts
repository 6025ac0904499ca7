/** The systems where access is held. Both are databases of one PostgreSQL, each behind a proxy of its own. */
export const targets = ['one', 'two'] as const;
export type TargetName = (typeof targets)[number];

/** The people and the roles of the silent target: each of these people gives back each of these roles while it is silent. */
export const debtors = ['debtor0', 'debtor1', 'debtor2', 'debtor3'];
export const debts = Array.from({ length: 25 }, (_, index) => `owed${index}`);

/** Roles for races of timers: each debtor requests each of them. */
export const races = ['race0', 'race1', 'race2', 'race3'];
/** Roles with 25 entitlements each at one target; with all of them the debtors together hold 5,000 entitlements. */
export const crowds = Array.from({ length: 50 }, (_, index) => `crowd${index}`);
const crowdSize = 25;

/** The grants of each role of the configuration, as `<target>/<database role>`, and its workflow. */
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
  huge: { grants: ['two/chaos_huge'], workflow: 'huge' },
  counted: { grants: ['two/chaos_counted'], workflow: 'counted' },
  // For sabotages, with which a run must fail.
  delayed: { grants: ['two/chaos_delayed'], workflow: 'delayed' },
  unfair: { grants: ['two/chaos_unfair'], workflow: 'unfair' },
  ...Object.fromEntries(races.map((name) => [name, { grants: [`two/chaos_${name}`], workflow: 'race' }])),
  ...Object.fromEntries(
    crowds.map((name) => [
      name,
      {
        grants: Array.from({ length: crowdSize }, (_, index) => `one/chaos_${name}_${index}`),
        workflow: 'automatic',
      },
    ]),
  ),
  ...Object.fromEntries(debts.map((name) => [name, { grants: [`one/chaos_${name}`], workflow: 'automatic' }])),
};

/** The workflows that grant without waiting for a person. */
export const grantsAtOnce = ['automatic', 'counted', 'delayed', 'race', 'unfair'];
/** The workflows in which timers race. */
export const racing = ['race', 'unfair'];

/** The type of the event that a signalled request waits for. */
export const goAhead = 'chaos.go';
