import { describe, expect, it } from 'vitest';
import { type ComparisonFacts, decideBegin, decideOpen, decideSkip } from '../src/access/restore/decide.js';

// The model of an administrator, Mallory, who holds access that no row knows after a restore, at one provider that may be silent at any
// time. She does all that she may, in any order. The decisions are made by the functions of the service. Grace, another
// administrator, revokes what was found. No sequence lets Mallory keep access by her own decisions, and none keeps Grace
// from permitting grants.

interface World {
  closed: boolean;
  /** Whether Mallory began a restore today, and Grace. */
  begun: { mallory: boolean; grace: boolean };
  silent: boolean;
  comparison: 'none' | 'failed' | 'compared' | 'skipped';
  proposal: 'mallory' | 'grace' | null;
  /** Whether the provider holds Mallory's access, and what the rows say of it. */
  held: boolean;
  found: 'no' | 'undecided' | 'revoked';
  /** Whether another person than Mallory agreed to leave the access unknown. */
  agreed: boolean;
  bad: boolean;
}

/** How the rules may differ from ours. Each difference is known to be wrong, which shows that the model finds faults. */
interface Rules {
  /** A begin forgets what was found and not decided. */
  forgets?: boolean;
  /** One administrator skips a provider alone. */
  alone?: boolean;
  /** A provider is skipped without a comparison that failed: what it would have shown is never known. */
  untried?: boolean;
  /** Administrators begin as often as they like. */
  endless?: boolean;
  /** A proposal counts in a later restore. */
  lasting?: boolean;
}

type Who = 'mallory' | 'grace';

const start: World = {
  closed: false,
  begun: { mallory: false, grace: false },
  silent: false,
  comparison: 'none',
  proposal: null,
  held: true,
  found: 'no',
  agreed: false,
  bad: false,
};

function begin(world: World, who: Who, rules: Rules): World | null {
  const begunLately = rules.endless ? false : world.begun[who];
  if (decideBegin({ closed: world.closed, begunLately }, 'administrator') !== 'anew') return null;
  const next: World = { ...world, closed: true, comparison: 'none', begun: { ...world.begun, [who]: true } };
  if (!rules.lasting) next.proposal = null;
  if (rules.forgets && next.found === 'undecided') next.found = 'no';
  return next;
}

function skip(world: World, who: Who, rules: Rules): World | null {
  if (!world.closed) return null;
  const proposal = world.proposal === null ? null : world.proposal === who && !rules.alone ? 'own' : 'other';
  const facts: ComparisonFacts = {
    compared: world.comparison === 'compared' || world.comparison === 'skipped',
    failed: rules.untried || world.comparison === 'failed',
    proposal: rules.alone ? 'other' : proposal,
  };
  const decision = decideSkip(facts, 'administrator');
  if (decision === 'propose') return { ...world, proposal: who };
  if (decision !== 'skip') return null;
  // Grace agrees in good faith: to a provider that was found silent in this restore.
  const agreed = world.comparison === 'failed' && (who === 'grace' || world.proposal === 'grace');
  return { ...world, comparison: 'skipped', proposal: null, agreed: world.agreed || agreed };
}

function compare(world: World): World | null {
  if (!world.closed || (world.comparison !== 'none' && world.comparison !== 'failed')) return null;
  if (world.silent) return { ...world, comparison: 'failed' };
  const found = world.held ? (world.found === 'no' ? 'undecided' : world.found) : 'no';
  return { ...world, comparison: 'compared', proposal: null, found };
}

function open(world: World): World | null {
  if (!world.closed) return null;
  const notCompared = world.comparison === 'compared' || world.comparison === 'skipped' ? 0 : 1;
  const undecided = world.found === 'undecided' ? 1 : 0;
  if (decideOpen({ notCompared, undecided }) !== 'open') return null;
  return { ...world, closed: false, bad: world.held && world.found !== 'revoked' && !world.agreed };
}

const decide = (world: World): World | null =>
  world.closed && world.found === 'undecided' ? { ...world, found: 'revoked' } : null;

function each(world: World, rules: Rules): (World | null)[] {
  return [
    begin(world, 'mallory', rules),
    begin(world, 'grace', rules),
    skip(world, 'mallory', rules),
    // Grace proposes or agrees only where she sees that the provider is silent.
    world.silent || rules.untried ? skip(world, 'grace', rules) : null,
    compare(world),
    decide(world),
    open(world),
    { ...world, silent: !world.silent },
    { ...world, begun: { mallory: false, grace: false } },
    // The revocation that is owed takes effect, also while grants wait.
    world.found === 'revoked' && !world.silent ? { ...world, held: false } : null,
  ];
}

/** Returns every world that can be reached. */
function explore(rules: Rules): World[] {
  const seen = new Map<string, World>([[JSON.stringify(start), start]]);
  const queue = [start];
  for (const world of queue) {
    for (const next of each(world, rules)) {
      if (next === null) continue;
      const key = JSON.stringify(next);
      if (seen.has(key)) continue;
      seen.set(key, next);
      queue.push(next);
    }
  }
  return queue;
}

/** Returns whether Grace permits grants within a day, while Mallory begins again before each step. */
function opens(from: World, rules: Rules): boolean {
  let world: World = { ...from, silent: false };
  for (let round = 0; round < 3; round += 1) {
    for (const step of [compare, decide, open]) {
      world = begin(world, 'mallory', rules) ?? world;
      world = step(world) ?? world;
      if (!world.closed) return true;
    }
  }
  return false;
}

describe('the model of an administrator after a restore', () => {
  const worlds = explore({});

  it('lets no administrator keep their own access, in any order of acts', () => {
    expect(worlds.length).toBeGreaterThan(100);
    expect(worlds.filter(({ bad }) => bad)).toEqual([]);
  });

  it('lets another administrator permit grants in every state, however often the first one begins again', () => {
    expect(worlds.filter((world) => world.closed && !opens(world, {}))).toEqual([]);
  });

  it.each<[string, Rules]>([
    ['a begin forgets what was found', { forgets: true, alone: true, untried: true }],
    ['one administrator skips a provider alone', { alone: true }],
    ['a proposal counts in a later restore, and nothing has to fail', { lasting: true, untried: true }],
  ])('finds the fault when %s', (_, rules) => {
    expect(explore(rules).some(({ bad }) => bad)).toBe(true);
  });

  it('finds the fault when administrators begin as often as they like', () => {
    expect(explore({ endless: true }).some((world) => world.closed && !opens(world, { endless: true }))).toBe(true);
  });
});
