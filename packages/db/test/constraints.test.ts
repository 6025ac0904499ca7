import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { id, insert, rows } from './support/rows.js';

const noRow = id(404);
/** The columns of a closed review. */
const closed = { closed_at: 'app_now()', closed_by: id(1), verdict: "'justified'", note: "'n'" };

/** What breaks each constraint: a changed column of the row in `rows`, or a second row with other columns. */
const violations: Record<string, { table: string; change?: Record<string, string>; add?: Record<string, string> }> = {
  account_attachment_proof_is_known: { table: 'account_attachments', add: { id: '9002', proof: "'rumour'" } },
  account_attachments_account_fk: { table: 'account_attachments', add: { id: '9002', account_id: noRow } },
  account_attachments_user_fk: { table: 'account_attachments', add: { id: '9002', user_id: noRow } },
  agents_have_one_credential: { table: 'agents', add: { id: id(9), name: "'other'" } },
  agents_have_one_name: { table: 'agents', add: { id: id(9), secret_hash: "'other'" } },
  approval_is_renewed_for_a_reason: { table: 'approvals', change: { because: 'null' } },
  approval_status_is_known: { table: 'approvals', change: { status: "'maybe'" } },
  approvals_are_one_per_step_and_stage: { table: 'approvals', add: { id: id(9), renews: id(71) } },
  approvals_are_renewed_once: { table: 'approvals', add: { id: id(9), stage: '1' } },
  approvals_execution_id_executions_id_fk: { table: 'approvals', change: { execution_id: noRow } },
  archived_blocks_archive_fk: { table: 'archived_blocks', change: { archive: "'none'" } },
  attachment_has_one_holder: { table: 'attachments', add: { id: '9002', user_id: 'null' } },
  attachment_kind_is_known: { table: 'attachments', add: { id: '9002', kind: "'rumour'" } },
  attachments_account_fk: { table: 'attachments', add: { id: '9002', user_id: 'null', account_id: noRow } },
  attachments_user_fk: { table: 'attachments', add: { id: '9002', user_id: noRow } },
  comment_has_a_text: { table: 'comments', change: { text: "''" } },
  comment_kind_is_known: { table: 'comments', change: { kind: "'gossip'" } },
  comments_author_fk: { table: 'comments', change: { author_id: noRow } },
  comments_execution_fk: { table: 'comments', change: { execution_id: noRow } },
  decision_verdict_is_known: { table: 'decisions', change: { verdict: "'abstain'" } },
  decisions_approval_fk: { table: 'decisions', change: { approval_id: noRow } },
  decisions_approver_fk: { table: 'decisions', change: { approver_id: noRow } },
  device_login_has_its_person: { table: 'device_logins', change: { status: "'approved'" } },
  device_login_status_is_known: { table: 'device_logins', change: { status: "'lost'" } },
  device_logins_have_one_user_code: { table: 'device_logins', add: { device_hash: "'other'" } },
  device_logins_login_id_logins_id_fk: { table: 'device_logins', change: { login_id: noRow } },
  entitlement_is_of_one_provider: { table: 'entitlements', change: { provider: "''" } },
  entitlement_state_is_known: { table: 'entitlements', change: { state: "'lost'" } },
  entitlement_was_called_before_it_is_granted: { table: 'entitlements', change: { state: "'granted'" } },
  entitlements_are_one_per_key: { table: 'entitlements', add: { id: id(9) } },
  execution_has_ended_exactly_when_its_status_is_final: { table: 'executions', change: { status: "'completed'" } },
  execution_status_is_known: { table: 'executions', change: { status: "'asleep'" } },
  executions_extends_fk: { table: 'executions', change: { extends_id: noRow } },
  executions_have_one_extension_at_a_time: { table: 'executions', add: { id: id(9) } },
  executions_owner_id_users_id_fk: { table: 'executions', change: { owner_id: noRow } },
  grant_end_reason_is_known: { table: 'grants', change: { ended_at: 'app_now()', ended_reason: "'bored'" } },
  grant_ends_with_a_reason: { table: 'grants', change: { ended_at: 'app_now()' } },
  grant_has_an_end: { table: 'grants', change: { expires_at: 'null' } },
  grant_must_expire_after_creation: { table: 'grants', change: { expires_at: 'created_at' } },
  grants_are_one_per_step_and_entitlement: { table: 'grants', add: { id: id(9) } },
  grants_entitlement_id_entitlements_id_fk: { table: 'grants', change: { entitlement_id: noRow } },
  grants_execution_id_executions_id_fk: { table: 'grants', change: { execution_id: noRow } },
  grants_user_id_users_id_fk: { table: 'grants', change: { user_id: noRow } },
  idempotency_keys_user_id_users_id_fk: { table: 'idempotency_keys', change: { user_id: noRow } },
  ledger_level_is_known: { table: 'ledger', change: { level: "'debug'" } },
  login_codes_login_id_logins_id_fk: { table: 'login_codes', change: { login_id: noRow } },
  login_codes_user_id_users_id_fk: { table: 'login_codes', change: { user_id: noRow } },
  login_kind_is_known: { table: 'logins', change: { kind: "'fax'" } },
  logins_have_one_id: { table: 'logins', add: { secret_hash: "'other'" } },
  logins_user_id_users_id_fk: { table: 'logins', change: { user_id: noRow } },
  messages_approval_fk: { table: 'messages', change: { approval_id: noRow } },
  message_is_about_one_thing: { table: 'messages', change: { approval_id: 'null' } },
  message_of_a_step_is_whole: { table: 'messages', change: { approval_id: 'null', execution_id: id(1) } },
  messages_execution_fk: {
    table: 'messages',
    change: { approval_id: 'null', execution_id: noRow, step_key: "'/do/0/tell#0'", title: "'t'", text: "'t'" },
  },
  messages_notice_fk: { table: 'messages', change: { approval_id: 'null', notice_id: noRow } },
  notices_are_told_once: { table: 'notices', add: { id: id(9) } },
  notification_preferences_user_fk: { table: 'notification_preferences', change: { user_id: noRow } },
  quiet_hours_are_whole: { table: 'notification_preferences', change: { quiet_from: "'22:00'" } },
  messages_are_queued_once: { table: 'messages', add: { id: id(9) } },
  oauth_flow_answer_has_its_code: { table: 'oauth_flows', change: { answer_hash: "'h'" } },
  oauth_flow_is_bound: { table: 'oauth_flows', change: { browser_hash: 'null' } },
  oauth_flow_purpose_is_known: { table: 'oauth_flows', change: { purpose: "'fun'" } },
  one_encryption_key_seals_idx: { table: 'encryption_keys', add: { kid: "'other'" } },
  program_logins_login_id_logins_id_fk: { table: 'program_logins', change: { login_id: noRow } },
  provisioned_groups_have_one_name: { table: 'provisioned_groups', add: { id: id(9) } },
  provisioned_members_group_fk: { table: 'provisioned_members', change: { group_id: noRow } },
  provisioned_members_user_fk: { table: 'provisioned_members', change: { user_id: noRow } },
  provisioned_users_have_one_name: { table: 'provisioned_users', add: { id: id(9) } },
  provisioning_tokens_have_one_secret: { table: 'provisioning_tokens', add: { id: id(9) } },
  reachable_is_one_row: { table: 'reachable', change: { one: 'false' } },
  run_ends_with_an_outcome: { table: 'runs', change: { ended_at: 'app_now()' } },
  run_has_a_lease: { table: 'runs', change: { lease: '0' } },
  run_outcome_is_known: { table: 'runs', change: { ended_at: 'app_now()', outcome: "'lost'" } },
  run_settles_after_its_end: { table: 'runs', change: { settled_at: 'app_now()' } },
  review_has_a_note: { table: 'reviews', change: { ...closed, note: "''" } },
  review_is_closed_whole: { table: 'reviews', change: { closed_at: 'app_now()' } },
  review_verdict_is_known: { table: 'reviews', change: { ...closed, verdict: "'fine'" } },
  reviews_are_open_once: { table: 'reviews', add: { id: id(63) } },
  reviews_closed_by_fk: { table: 'reviews', change: { ...closed, closed_by: noRow } },
  reviews_execution_fk: { table: 'reviews', change: { execution_id: noRow } },
  runs_execution_id_executions_id_fk: { table: 'runs', change: { execution_id: noRow } },
  runs_user_id_users_id_fk: { table: 'runs', change: { user_id: noRow } },
  separation_is_ordered: { table: 'separations', change: { one: id(13), other: id(1) } },
  separations_one_fk: { table: 'separations', change: { one: id(0) } },
  separations_other_fk: { table: 'separations', change: { other: noRow } },
  session_version_counts_from_one: { table: 'sessions', change: { version: '0' } },
  sessions_login_id_logins_id_fk: { table: 'sessions', change: { login_id: noRow } },
  sessions_user_id_users_id_fk: { table: 'sessions', change: { user_id: noRow } },
  signals_delivery_idx: { table: 'signals', add: { event_id: "'2'" } },
  signals_execution_id_executions_id_fk: { table: 'signals', change: { execution_id: noRow } },
  comparison_is_skipped_at_a_time: { table: 'comparisons', change: { skipped: "'it is down'" } },
  drift_kind_is_known: { table: 'drifts', change: { kind: "'perhaps'" } },
  leftover_answer_is_known: { table: 'leftovers', change: { answer: "'perhaps'" } },
  leftovers_are_one_per_key: { table: 'leftovers', add: { id: id(23) } },
  clusters_is_one_row: { table: 'clusters', change: { one: 'false' } },
  provider_pause_scope_is_known: { table: 'provider_pauses', change: { scope: "'none'" } },
  lookup_kind_is_known: { table: 'lookups', change: { kind: "'none'" } },
  lookups_user_id_users_id_fk: { table: 'lookups', change: { user_id: noRow } },
  restores_is_one_row: { table: 'restores', change: { one: 'false' } },
  starred_roles_user_fk: { table: 'starred_roles', change: { user_id: noRow } },
  step_kind_is_known: { table: 'steps', change: { kind: "'dance'" } },
  step_status_is_known: { table: 'steps', change: { status: "'lost'" } },
  steps_execution_id_executions_id_fk: { table: 'steps', change: { execution_id: noRow } },
  target_doubt_has_a_time: { table: 'targets', change: { doubt: "'earlier'" } },
  target_mark_has_a_time: { table: 'targets', change: { mark: "'1.a'" } },
  target_next_mark_has_a_time: { table: 'targets', change: { next_mark: "'2.b'" } },
  user_identities_user_id_users_id_fk: { table: 'user_identities', change: { user_id: noRow } },
  users_are_known_once_per_provider: { table: 'users', add: { id: id(9) } },
};

describe('the database', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase();
    for (const { table, values } of rows) await database.sql.unsafe(insert(table, values));
  });
  afterAll(() => database[Symbol.asyncDispose]());

  it('has no constraint that is not violated here', async () => {
    const constraints = await database.sql<{ name: string }[]>`
      select conname as name from pg_constraint
      where contype in ('c', 'u', 'f', 'x') and connamespace = 'public'::regnamespace
      union
      select indexrelid::regclass::text from pg_index join pg_class on pg_class.oid = indrelid
      where indisunique and not indisprimary and relnamespace = 'public'::regnamespace`;
    expect(Object.keys(violations).sort()).toEqual(constraints.map(({ name }) => name).sort());
  });

  it.each(Object.entries(violations))('rejects a row that breaks %s', async (constraint, { table, change, add }) => {
    const valid = rows.find((row) => row.table === table)?.values ?? {};
    const statement = add
      ? insert(table, { ...valid, ...add })
      : `update ${table} set ${Object.entries(change ?? {}).map(([column, value]) => `${column} = ${value}`)}`;
    await expect(database.sql.unsafe(statement)).rejects.toMatchObject({ constraint_name: constraint });
  });

  it.each(rows.filter(({ table }) => table !== 'ledger'))('has one row of $table for each primary key', async (row) => {
    await expect(database.sql.unsafe(insert(row.table, row.values))).rejects.toMatchObject({ code: '23505' });
  });

  it('accepts grants that lapsed beside the one that counts for their step', async () => {
    const { sql } = database;
    const grant = rows.find(({ table }) => table === 'grants')?.values ?? {};
    const lapsed = { ...grant, ended_at: 'app_now()', ended_reason: "'lapsed'" };
    for (const other of [id(61), id(62)]) await sql.unsafe(insert('grants', { ...lapsed, id: other }));
    expect(await sql`select id from grants where execution_id = ${id(4).slice(1, -1)}`).toHaveLength(3);
  });

  it('finds all grants of an execution by their unique index, as its deletion does', async () => {
    const plan = await database.sql.begin(async (tx) => {
      await tx`set local enable_seqscan = off`;
      return tx.unsafe(`explain select from grants where execution_id = ${id(4)} for key share`);
    });
    expect(JSON.stringify(plan)).toContain('grants_are_one_per_step_and_entitlement');
  });

  it('lists the audience of an open approval, and none of a closed one', async () => {
    const { sql } = database;
    const audience = () => sql`select kind, name from approval_audience where approval_id = ${id(17).slice(1, -1)}`;
    const values = { id: id(17), step_key: "'/do/1'", renews: 'null', because: 'null' };
    const approval = rows.find(({ table }) => table === 'approvals')?.values ?? {};
    await sql.unsafe(
      insert('approvals', { ...approval, ...values, rule: `'{"users": ["a@b"], "groups": ["admins"]}'` }),
    );
    expect(await audience()).toEqual(
      expect.arrayContaining([
        { kind: 'user', name: 'a@b' },
        { kind: 'group', name: 'admins' },
      ]),
    );
    await sql`update approvals set status = 'denied', closed_at = app_now() where id = ${id(17).slice(1, -1)}`;
    expect(await audience()).toEqual([]);
  });
});
