import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import type postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { id, insert, rows } from './support/rows.js';

/** What a trigger does: a statement that fires it, and its effect, or the error that rejects the statement. */
interface Fired {
  /** Statements that run before it. */
  after?: string[];
  statement: string;
  /** A query whose value is true because of the trigger. */
  then: string;
}
interface Rejected extends Omit<Fired, 'then'> {
  error: string;
}

const execution = id(40);
const entitlement = id(50);
const grant = id(65);
const approval = id(75);
const valid = (table: string) => rows.find((row) => row.table === table)?.values ?? {};

/**
 * A use of a role for emergencies whose grant is not active yet, with the kinds of notices enabled that triggers write.
 */
const emergency = [
  `insert into told_kinds (kind) values ('request.waiting'), ('request.decided'), ('access.active'), ('access.ended'), ('review.opened')`,
  insert('executions', {
    ...valid('executions'),
    id: execution,
    input: `'{"role": "r", "break_glass": {"review": {"users": [], "within": 3600000}}}'`,
    extends_id: 'null',
  }),
  insert('entitlements', {
    ...valid('entitlements'),
    id: entitlement,
    key: "'other'",
    last_grant_call_at: 'app_now()',
  }),
  insert('grants', {
    ...valid('grants'),
    id: grant,
    execution_id: execution,
    entitlement_id: entitlement,
    activated_at: 'null',
    activate_by: "app_now() + interval '1 hour'",
    expires_at: 'null',
  }),
];
const activating = `update grants set activated_at = app_now(), expires_at = app_now() + interval '1 hour' where id = ${grant}`;
const failing = `update entitlements set failures = failures + 1 where id = ${entitlement}`;
const opening = insert('approvals', {
  ...valid('approvals'),
  id: approval,
  execution_id: execution,
  rule: `'{"users": ["a@b"], "groups": []}'`,
  renews: 'null',
  because: 'null',
});
const deciding = `update approvals set status = 'denied', closed_at = app_now() where id = ${approval}`;
const isTold = (kind: string) =>
  `select exists (select from notices where kind = '${kind}' and execution_id = ${execution})`;
const isReviewed = `select exists (select from reviews where execution_id = ${execution})`;
const isAsked = `exists (select from approval_audience where approval_id = ${approval})`;

/** Closes the review of `rows`. */
const closing = `update reviews set closed_at = app_now(), closed_by = ${id(1)}, verdict = 'justified', note = 'n'`;
const kept = 'a review is closed once, and kept';

/** The effects of each trigger. */
const triggers: Record<string, (Fired | Rejected)[]> = {
  account_attachments_keep: [
    { statement: `update account_attachments set proof = 'subject'`, error: 'An attachment can only be closed' },
    { statement: 'delete from account_attachments', error: 'An attachment can only be closed' },
  ],
  approvals_change_audience: [{ after: [...emergency, opening], statement: deciding, then: `select not ${isAsked}` }],
  approvals_decided_are_told: [
    { after: [...emergency, opening], statement: deciding, then: isTold('request.decided') },
  ],
  approvals_open_to_audience: [{ after: emergency, statement: opening, then: `select ${isAsked}` }],
  approvals_opened_are_told: [{ after: emergency, statement: opening, then: isTold('request.waiting') }],
  attachments_keep: [
    { statement: `update attachments set name = 'other'`, error: 'An attachment can only be closed' },
    {
      after: ['update attachments set until = app_now()'],
      statement: 'update attachments set until = null',
      error: 'An attachment can only be closed',
    },
    { statement: 'delete from attachments', error: 'An attachment can only be closed' },
  ],
  comments_are_kept: [
    { statement: `update comments set text = 'other'`, error: 'comments are append-only' },
    { statement: 'delete from comments', error: 'comments are append-only' },
  ],
  entitlements_of_emergencies_are_reviewed: [{ after: emergency, statement: failing, then: isReviewed }],
  entitlements_of_emergencies_are_told: [{ after: emergency, statement: failing, then: isTold('break_glass.used') }],
  executions_count_moves: [
    {
      after: emergency,
      statement: `update executions set state = '{"a": 1}' where id = ${execution}`,
      then: `select version = 1 from executions where id = ${execution}`,
    },
  ],
  grants_active_are_told: [{ after: emergency, statement: activating, then: isTold('access.active') }],
  grants_gone_are_told: [
    {
      after: [...emergency, activating],
      statement: `update grants set gone_at = app_now() where id = ${grant}`,
      then: isTold('access.ended'),
    },
  ],
  grants_of_emergencies_are_reviewed: [{ after: emergency, statement: activating, then: isReviewed }],
  grants_of_emergencies_are_told: [{ after: emergency, statement: activating, then: isTold('break_glass.used') }],
  notices_name_cause: [
    {
      after: emergency,
      statement: insert('notices', { ...valid('notices'), id: id(15), key: "'other'", execution_id: execution }),
      then: `select cause = owner_id from notices, executions where notices.id = ${id(15)} and executions.id = ${execution}`,
    },
  ],
  provisioned_users_attach_changed_names: [
    {
      after: [`update provisioned_users set addresses = '["a@b", "c@d"]'`],
      statement: `update provisioned_users set addresses = '["c@d", "e@f"]'`,
      then: `select array_agg(name || (until is null)::text order by id) = '{a@bfalse,c@dtrue,e@ftrue}' from attachments where account_id = ${id(11)}`,
    },
    {
      after: [`update provisioned_users set addresses = '["a@b"]'`],
      statement: `update provisioned_users set deleted_at = app_now()`,
      then: `select bool_and(until is not null) from attachments where account_id = ${id(11)}`,
    },
  ],
  provisioned_users_attach_names: [
    {
      statement: insert('provisioned_users', {
        ...valid('provisioned_users'),
        id: id(14),
        user_name_folded: "'b'",
        addresses: `'["a@b"]'`,
      }),
      then: `select count(*) = 1 from attachments where account_id = ${id(14)} and name = 'a@b'`,
    },
  ],
  provisioned_users_keep: [
    {
      after: [
        'alter table attachments disable trigger attachments_keep',
        'delete from provisioned_members',
        'alter table account_attachments disable trigger account_attachments_keep',
        'delete from account_attachments',
      ],
      statement: 'delete from provisioned_users',
      error: 'An account of a directory is marked as deleted, and stays',
    },
  ],
  reviews_are_kept: [
    { after: [closing], statement: `update reviews set note = 'other'`, error: kept },
    {
      after: [closing],
      statement: 'update reviews set closed_at = null, closed_by = null, verdict = null, note = null',
      error: kept,
    },
    { after: [closing], statement: 'delete from reviews', error: kept },
    { statement: 'delete from reviews', error: kept },
  ],
  user_identities_attach_changed_names: [
    {
      after: [`update user_identities set email_folded = 'a@b'`],
      statement: `update user_identities set email_folded = 'c@d', issuer = 'i'`,
      then: `select array_agg(kind || name || (until is null)::text order by name) = '{"subject[\\"i\\", \\"s\\"]true",addressa@bfalse,addressc@dtrue}'
        from attachments where subject = 's'`,
    },
    {
      after: [`update user_identities set email_folded = 'a@b'`],
      statement: 'update user_identities set email_folded = null',
      then: `select bool_and(until is not null) from attachments where subject = 's'`,
    },
  ],
  user_identities_attach_names: [
    {
      statement: insert('user_identities', { ...valid('user_identities'), subject: "'t'", email_folded: "'a@b'" }),
      then: `select count(*) = 1 from attachments where subject = 't' and name = 'a@b' and until is null`,
    },
  ],
};

describe('the database', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    for (const { table, values } of rows) await database.sql.unsafe(insert(table, values));
  });
  afterAll(() => database[Symbol.asyncDispose]());

  const listTriggers = () => database.sql<{ name: string; table: string }[]>`
    select tgname as name, tgrelid::regclass::text as table from pg_trigger join pg_class on pg_class.oid = tgrelid
    where not tgisinternal and relnamespace = 'public'::regnamespace`;

  it('has no trigger that is not fired here', async () => {
    expect((await listTriggers()).map(({ name }) => name).sort()).toEqual(Object.keys(triggers).sort());
  });

  const cases = Object.entries(triggers).flatMap(([name, all]) =>
    all.map((one, index) => [name, index + 1, one] as const),
  );

  it.each(cases)('has its trigger %s do its part, which nothing else does (%i)', async (name, _, one) => {
    const table = (await listTriggers()).find((trigger) => trigger.name === name)?.table ?? '';
    const expected = 'error' in one ? one.error : true;
    expect(await outcomeOf(one)).toBe(expected);
    expect(await outcomeOf(one, `alter table ${table} disable trigger ${name}`)).not.toBe(expected);
  });

  /** Returns the value of `then`, or the error of the statement. Undoes everything. */
  async function outcomeOf(one: Fired | Rejected, first?: string): Promise<unknown> {
    const undone = Symbol('undone');
    let outcome: unknown;
    const work = async (tx: postgres.TransactionSql) => {
      for (const statement of [...(first ? [first] : []), ...(one.after ?? [])]) await tx.unsafe(statement);
      const fired = tx.savepoint((point) => point.unsafe(one.statement));
      const error = await fired.then(
        () => null,
        ({ message }: Error) => message,
      );
      if (error !== null || 'error' in one) outcome = error;
      else outcome = Object.values((await tx.unsafe(one.then))[0] ?? {})[0];
      throw undone;
    };
    await database.sql.begin(work).catch((thrown: unknown) => {
      if (thrown !== undone) throw thrown;
    });
    return outcome;
  }
});
