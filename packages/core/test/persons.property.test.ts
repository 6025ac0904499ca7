import {
  type ActorContext,
  changeProvisionedUser,
  createProvisionedUser,
  deleteProvisionedUser,
  requestElevation,
  verifyLogin,
} from '@belay/core';
import { approvalCatalog } from '@belay/testkit/house';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Doors, openDoors, type Visitor } from './support/doors.js';
import { approve } from './support/stories.js';

// BELAY_TEST_LONG sets the number of sequences and makes them longer, BELAY_TEST_SEED the seed.
const long = Number(process.env.BELAY_TEST_LONG ?? 0);
const seed = Number(process.env.BELAY_TEST_SEED ?? 20260301);

/*
 * Three people with an account at the company, whose directory speaks SCIM, and one at a public provider. Each pair of accounts was once seen
 * with one address, so Belay knows that it is one person. After that, anything may happen, in any order and at one time.
 */
const settings = {
  corp: { groups: 'all', scim: { groups: 'sign_in' }, trusted_email_domains: ['example.com'] },
  github: { groups: 'all' },
};
const groups = ['engineers', 'approvers'];
const names = ['rita', 'adam', 'alan'] as const;

interface Person {
  name: (typeof names)[number];
  /** The addresses that the providers verify now; no address is that of two people at one time. */
  corp: string;
  github: string;
  /** The account at the directory, and the address that it has there. */
  account: string;
  directory: string;
  active: boolean;
  hired: number;
  logins: Visitor[];
}

class World {
  readonly people: Person[] = [];
  readonly requests: { id: string; by: Person }[] = [];
  readonly free: string[] = [];
  made = 0;
  constructor(readonly doors: Doors) {}

  static async open(doors: Doors): Promise<World> {
    const world = new World(doors);
    for (const name of names) {
      const email = `${name}@example.com`;
      const account = await world.provision(name, email, 1);
      const person = {
        name,
        corp: email,
        github: email,
        account,
        directory: email,
        active: true,
        hired: 1,
        logins: [],
      };
      world.people.push(person);
      await world.signIn(person, 'corp');
      await world.signIn(person, 'github');
    }
    return world;
  }

  async provision(name: string, email: string, hired: number): Promise<string> {
    const person = { userName: email, externalId: `object-${name}-${hired}`, active: true, details: {} };
    return (await createProvisionedUser(this.doors.house.ctx, 'corp', person)).id;
  }

  change(person: Person, more: object): Promise<unknown> {
    const { ctx } = this.doors.house;
    return changeProvisionedUser(ctx, 'corp', person.account, (current) => ({ ...current, ...more }));
  }

  /** Returns an address that no one has: a new one, or one that another person gave up. */
  take(person: Person, reused: boolean): string {
    this.made += 1;
    const taken = reused ? this.free.shift() : undefined;
    return taken ?? `${person.name}${this.made}@example.com`;
  }

  giveUp(address: string): void {
    const isUsed = this.people.some((one) => [one.corp, one.github, one.directory].includes(address));
    if (!isUsed && !this.free.includes(address)) this.free.push(address);
  }

  async signIn(person: Person, at: 'corp' | 'github', inside?: Visitor): Promise<Visitor | undefined> {
    const told = { subject: `${at}-${person.name}`, email: person[at], groups };
    try {
      const visitor = await this.doors.signIn(this.doors[at], told, inside);
      person.logins.push(visitor);
      return visitor;
    } catch (error) {
      // A person who stays is never locked out.
      if (person.active) throw error;
      return undefined;
    }
  }

  async act(one: Act): Promise<void> {
    const person = this.people[one.who % this.people.length];
    if (!person) return;
    await {
      signIn: this.comeIn,
      rename: this.rename,
      directory: this.renameThere,
      leave: this.leave,
      hire: this.hire,
      ask: this.ask,
      decide: this.decide,
    }[one.what].call(this, person, one);
  }

  async comeIn(person: Person, { flag }: Act): Promise<void> {
    const inside = flag ? person.logins.at(-1) : undefined;
    await this.signIn(person, flag ? 'github' : 'corp', inside);
  }

  async rename(person: Person, { flag, reused }: Act): Promise<void> {
    const at = flag ? 'github' : 'corp';
    const before = person[at];
    person[at] = this.take(person, reused);
    this.giveUp(before);
  }

  async renameThere(person: Person, { reused }: Act): Promise<void> {
    const before = person.directory;
    person.directory = this.take(person, reused);
    await this.change(person, { userName: person.directory });
    this.giveUp(before);
  }

  async leave(person: Person, { flag, reused }: Act): Promise<void> {
    if (!person.active) return;
    person.active = false;
    const before = person.directory;
    if (flag) person.directory = this.take(person, reused);
    await this.change(person, { active: false, ...(flag ? { userName: person.directory } : {}) });
    this.giveUp(before);
  }

  async hire(person: Person, { flag }: Act): Promise<void> {
    if (person.active) return;
    if (flag) await this.change(person, { active: true });
    else {
      await deleteProvisionedUser(this.doors.house.ctx, 'corp', person.account);
      person.hired += 1;
      person.directory = person.corp;
      person.account = await this.provision(person.name, person.corp, person.hired);
    }
    person.logins = [];
    person.active = true;
    // A new account is known by the address alone until this sign-in proves it (docs/connectors/scim.md).
    await this.signIn(person, 'corp');
  }

  async ask(person: Person, { flag }: Act): Promise<void> {
    const login = person.logins.at(flag ? -1 : 0);
    if (!login) return;
    const terms = { role: 'reader', reason: 'a ticket', duration: 'PT30M', workflow: flag ? 'automatic' : 'approved' };
    const asked = await requestElevation(login, terms).catch(ignoreRefusal);
    if (asked) this.requests.push({ id: asked.output.execution_id, by: person });
    await this.doors.house.work();
  }

  /** The requester and a colleague decide with every login that they ever had, at one time. */
  async decide(person: Person, { flag }: Act): Promise<void> {
    const last = this.requests.at(-1);
    if (!last) return;
    if (flag) await this.signIn(last.by, 'github');
    const own: ActorContext[] = last.by.logins;
    await Promise.all([...own, ...person.logins].map((login) => approve(login, last.id).catch(ignoreRefusal)));
    await this.doors.house.work();
  }

  async check(): Promise<void> {
    const { house } = this.doors;
    await house.work();
    const ids = new Map(this.people.map((person) => [person, new Set(person.logins.map(({ actor }) => actor.id))]));
    const made = await house.database.sql<{ execution_id: string; approver_id: string }[]>`
      select a.execution_id, d.approver_id from decisions d join approvals a on a.id = d.approval_id where d.verdict = 'approve'`;
    for (const { execution_id, approver_id } of made) {
      const by = this.requests.find(({ id }) => id === execution_id)?.by;
      expect(by && ids.get(by)?.has(approver_id), 'a person decided on their own request').not.toBe(true);
    }
    for (const person of this.people.filter(({ active }) => !active)) {
      for (const { token } of person.logins) {
        const login = await verifyLogin(house.ctx, { token });
        expect(login, `${person.name} left and is still signed in`).toBeNull();
      }
      const own = [...(ids.get(person) ?? [])];
      const held = await house.database.sql`select from grants where user_id = any (${own}) and ended_at is null`;
      expect(held, `${person.name} left and still has access`).toHaveLength(0);
    }
  }
}

function ignoreRefusal(error: unknown): undefined {
  const { code } = error as { code?: string };
  if (['forbidden', 'conflict', 'unauthenticated', 'not_found', 'invalid'].includes(code ?? '')) return undefined;
  throw error;
}

const act = fc.record({
  what: fc.constantFrom('signIn', 'rename', 'rename', 'directory', 'leave', 'hire', 'ask', 'ask', 'decide', 'decide'),
  who: fc.nat(2),
  flag: fc.boolean(),
  reused: fc.boolean(),
});
type Act = Parameters<Parameters<(typeof act)['map']>[0]>[0] & {
  what: 'signIn' | 'rename' | 'directory' | 'leave' | 'hire' | 'ask' | 'decide';
};

it(
  'no sequence lets a person decide on their own request or keep anything after leaving, and none locks out a person who stays',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 4, maxLength: long > 0 ? 30 : 14 }), async (acts) => {
        await using doors = await openDoors(
          settings,
          approvalCatalog({ role: { permissions: { groups: ['engineers'] } } }),
        );
        const world = await World.open(doors);
        for (const one of acts) {
          await world.act(one);
          await world.check();
        }
        // Who stays can sign in, and who left cannot.
        for (const person of world.people) {
          const came = await world.signIn(person, 'corp');
          expect(came !== undefined, `${person.name} ${person.active ? 'stays' : 'left'}`).toBe(person.active);
        }
      }),
      { numRuns: long || 10, seed, endOnFailure: true },
    );
  },
  long > 0 ? 60 * 60_000 : 400_000,
);
