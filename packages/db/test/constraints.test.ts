import { createTestDatabase, type TestDatabase } from '@belay/testkit/database';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** Returns the id that ends in these digits. */
const id = (digits: number) => `'00000000-0000-4000-8000-${String(digits).padStart(12, '0')}'`;
const nobody = id(404);
/** What a review has when it is closed. */
const closed = { closed_at: 'app_now()', closed_by: id(1), verdict: "'justified'", note: "'n'" };

/** A valid row of each table that has a constraint besides its primary key. */
const rows: { table: string; values: Record<string, string> }[] = [
  {
    table: 'users',
    values: { id: id(1), provider: "'oidc'", subject: "'s'", email: "'a@b'", name: "'A'", groups: "'[]'" },
  },
  {
    table: 'user_identities',
    values: { provider: "'oidc'", subject: "'s'", user_id: id(1), email: "'a@b'", name: "'A'", groups: "'[]'" },
  },
  {
    table: 'logins',
    values: {
      secret_hash: "'h'",
      id: id(2),
      user_id: id(1),
      kind: "'browser'",
      provider: "'oidc'",
      expires_at: 'app_now()',
    },
  },
  {
    table: 'oauth_flows',
    values: {
      state_hash: "'h'",
      provider: "'oidc'",
      sealed: "'s'",
      browser_hash: "'b'",
      purpose: "'login'",
      answer_hash: 'null',
      expires_at: 'app_now()',
    },
  },
  {
    table: 'login_codes',
    values: {
      code_hash: "'h'",
      user_id: id(1),
      provider: "'oidc'",
      code_challenge: "'c'",
      login_id: id(2),
      expires_at: 'app_now()',
    },
  },
  {
    table: 'program_logins',
    values: {
      request_hash: "'h'",
      login_id: id(2),
      browser_hash: "'b'",
      provider: "'oidc'",
      subject: "'s'",
      callback: "'c'",
      code_challenge: "'c'",
      expires_at: 'app_now()',
    },
  },
  {
    table: 'device_logins',
    values: {
      device_hash: "'h'",
      user_code_hash: "'u'",
      label: "'l'",
      status: "'open'",
      login_id: 'null',
      expires_at: 'app_now()',
    },
  },
  {
    table: 'sessions',
    values: {
      login_id: id(2),
      provider: "'oidc'",
      user_id: id(1),
      subject: "'s'",
      version: '1',
      sealed: "'s'",
      expires_at: 'app_now()',
    },
  },
  {
    table: 'agents',
    values: { id: id(3), name: "'laptop'", secret_hash: "'h'", expires_at: 'app_now()' },
  },
  {
    table: 'encryption_keys',
    values: { kid: "'k'", wrapped: "'\\x00'", wrapped_by: "'w'", service: "'kms'" },
  },
  {
    table: 'executions',
    values: {
      id: id(4),
      workflow: "'w'",
      definition_digest: "'d'",
      catalog_version: '1',
      owner_id: id(1),
      input: "'{}'",
      status: "'running'",
      state: "'{}'",
      extends_id: id(4),
      ended_at: 'null',
    },
  },
  {
    table: 'steps',
    values: { execution_id: id(4), key: "'/do/0'", kind: "'call'", status: "'open'", request: "'{}'" },
  },
  {
    table: 'signals',
    values: {
      execution_id: id(4),
      source: "'ci'",
      event_id: "'1'",
      type: "'done'",
      event: "'{}'",
      delivery_id: "'delivery'",
    },
  },
  {
    table: 'idempotency_keys',
    values: { user_id: id(1), key: "'k'", request_digest: "'d'", execution_id: id(4) },
  },
  {
    table: 'entitlements',
    values: {
      id: id(5),
      key: "'k'",
      provider: "'pg'",
      target: "'t'",
      subject: "'{}'",
      identity: "'ada'",
      access: "'{}'",
      state: "'granting'",
      last_grant_call_at: 'null',
    },
  },
  {
    table: 'grants',
    values: {
      id: id(6),
      execution_id: id(4),
      step_key: "'/do/0'",
      entitlement_id: id(5),
      user_id: id(1),
      duration: '60000',
      activated_at: 'app_now()',
      activate_by: 'null',
      expires_at: "app_now() + interval '1 minute'",
      ended_at: 'null',
      ended_reason: 'null',
    },
  },
  {
    table: 'approvals',
    values: {
      id: id(7),
      execution_id: id(4),
      step_key: "'/do/0'",
      stage: '0',
      rule: `'{"users": [], "groups": []}'`,
      excluded: "'[]'",
      subject: "'{}'",
      request_digest: "'d'",
      status: "'open'",
      expires_at: 'app_now()',
      renews: id(70),
      because: "'the role changed'",
    },
  },
  {
    table: 'decisions',
    values: {
      approval_id: id(7),
      approver_id: id(1),
      verdict: "'approve'",
      request_digest: "'d'",
      via: "'page'",
    },
  },
  {
    table: 'reviews',
    values: { id: id(60), execution_id: id(4), rule: "'{}'", due_at: 'app_now()' },
  },
  {
    table: 'comments',
    values: { id: id(13), execution_id: id(4), author_id: id(1), kind: "'comment'", text: "'t'" },
  },
  {
    table: 'messages',
    values: { id: id(8), key: "'k'", approval_id: id(7), provider: "'mail'", recipient: "'a@b'" },
  },
  { table: 'ledger_archives', values: { digest: "'d'", month: "'2026-01'", rows: '1' } },
  {
    table: 'archived_blocks',
    values: {
      archive: "'d'",
      nth: '1',
      rows: '1',
      digest: "'e'",
      first_at: 'app_now()',
      first_seq: '1',
      last_at: 'app_now()',
      last_seq: '1',
    },
  },
  { table: 'notices', values: { id: id(8), key: "'k'", kind: "'access.active'" } },
  { table: 'notification_preferences', values: { user_id: id(1) } },
  { table: 'starred_roles', values: { user_id: id(1), role: "'r'" } },
  { table: 'clusters', values: { one: 'true', system: "'7000000000000000000'", timeline: '1', database: "'5'" } },
  { table: 'restores', values: { one: 'true', epoch: '1', reason: "'a drill'" } },
  { table: 'comparisons', values: { provider: "'pg'", epoch: '1', lease_until: 'app_now()' } },
  { table: 'drift_audits', values: { provider: "'pg'", due_at: 'app_now()' } },
  { table: 'drifts', values: { key: "'a key'", kind: "'unknown'", provider: "'pg'" } },
  {
    table: 'leftovers',
    values: { id: id(22), key: "'k'", epoch: '1', provider: "'pg'", identity: "'ada'", access: "'{}'" },
  },
  {
    table: 'runs',
    values: { id: id(21), execution_id: id(4), user_id: id(1), requested: 'true', lease: '60000', due_at: '0' },
  },
  {
    table: 'provisioning_tokens',
    values: { id: id(10), provider: "'oidc'", secret_hash: "'h'", expires_at: 'app_now()' },
  },
  {
    table: 'provisioned_users',
    values: {
      id: id(11),
      provider: "'oidc'",
      user_name: "'a'",
      user_name_folded: "'a'",
      active: 'true',
      addresses: "'[]'",
      details: "'{}'",
    },
  },
  { table: 'provisioned_groups', values: { id: id(12), provider: "'oidc'", display_name: "'g'" } },
  { table: 'provisioned_members', values: { group_id: id(12), user_id: id(11) } },
  {
    table: 'ledger',
    values: { type: "'execution.started'", level: "'info'", message: "'m'", actor: "'{}'" },
  },
];

/** What a row needs to break each constraint: a changed column of the row above, or a second row with other columns. */
const violations: Record<string, { table: string; change?: Record<string, string>; add?: Record<string, string> }> = {
  agents_have_one_credential: { table: 'agents', add: { id: id(9), name: "'other'" } },
  agents_have_one_name: { table: 'agents', add: { id: id(9), secret_hash: "'other'" } },
  approval_is_renewed_for_a_reason: { table: 'approvals', change: { because: 'null' } },
  approval_status_is_known: { table: 'approvals', change: { status: "'maybe'" } },
  approvals_are_one_per_step_and_stage: { table: 'approvals', add: { id: id(9), renews: id(71) } },
  approvals_are_renewed_once: { table: 'approvals', add: { id: id(9), stage: '1' } },
  approvals_execution_id_executions_id_fk: { table: 'approvals', change: { execution_id: nobody } },
  archived_blocks_archive_fk: { table: 'archived_blocks', change: { archive: "'none'" } },
  comment_has_a_text: { table: 'comments', change: { text: "''" } },
  comment_kind_is_known: { table: 'comments', change: { kind: "'gossip'" } },
  comments_author_fk: { table: 'comments', change: { author_id: nobody } },
  comments_execution_fk: { table: 'comments', change: { execution_id: nobody } },
  decision_verdict_is_known: { table: 'decisions', change: { verdict: "'abstain'" } },
  decisions_approval_fk: { table: 'decisions', change: { approval_id: nobody } },
  decisions_approver_fk: { table: 'decisions', change: { approver_id: nobody } },
  device_login_has_its_person: { table: 'device_logins', change: { status: "'approved'" } },
  device_login_status_is_known: { table: 'device_logins', change: { status: "'lost'" } },
  device_logins_have_one_user_code: { table: 'device_logins', add: { device_hash: "'other'" } },
  device_logins_login_id_logins_id_fk: { table: 'device_logins', change: { login_id: nobody } },
  entitlement_is_pinned_whole: { table: 'entitlements', change: { subject: 'null' } },
  entitlement_state_is_known: { table: 'entitlements', change: { state: "'lost'" } },
  entitlement_was_called_before_it_is_granted: { table: 'entitlements', change: { state: "'granted'" } },
  entitlements_are_one_per_key: { table: 'entitlements', add: { id: id(9) } },
  execution_has_ended_exactly_when_its_status_is_final: { table: 'executions', change: { status: "'completed'" } },
  execution_status_is_known: { table: 'executions', change: { status: "'asleep'" } },
  executions_extends_fk: { table: 'executions', change: { extends_id: nobody } },
  executions_have_one_extension_at_a_time: { table: 'executions', add: { id: id(9) } },
  executions_owner_id_users_id_fk: { table: 'executions', change: { owner_id: nobody } },
  grant_end_reason_is_known: { table: 'grants', change: { ended_at: 'app_now()', ended_reason: "'bored'" } },
  grant_ends_with_a_reason: { table: 'grants', change: { ended_at: 'app_now()' } },
  grant_has_an_end: { table: 'grants', change: { expires_at: 'null' } },
  grant_must_expire_after_creation: { table: 'grants', change: { expires_at: 'created_at' } },
  grants_are_one_per_step_and_entitlement: { table: 'grants', add: { id: id(9) } },
  grants_entitlement_id_entitlements_id_fk: { table: 'grants', change: { entitlement_id: nobody } },
  grants_execution_id_executions_id_fk: { table: 'grants', change: { execution_id: nobody } },
  grants_user_id_users_id_fk: { table: 'grants', change: { user_id: nobody } },
  idempotency_keys_user_id_users_id_fk: { table: 'idempotency_keys', change: { user_id: nobody } },
  ledger_level_is_known: { table: 'ledger', change: { level: "'debug'" } },
  login_codes_login_id_logins_id_fk: { table: 'login_codes', change: { login_id: nobody } },
  login_codes_user_id_users_id_fk: { table: 'login_codes', change: { user_id: nobody } },
  login_kind_is_known: { table: 'logins', change: { kind: "'fax'" } },
  logins_have_one_id: { table: 'logins', add: { secret_hash: "'other'" } },
  logins_user_id_users_id_fk: { table: 'logins', change: { user_id: nobody } },
  messages_approval_fk: { table: 'messages', change: { approval_id: nobody } },
  message_is_about_one_thing: { table: 'messages', change: { approval_id: 'null' } },
  message_of_a_step_is_whole: { table: 'messages', change: { approval_id: 'null', execution_id: id(1) } },
  messages_execution_fk: {
    table: 'messages',
    change: { approval_id: 'null', execution_id: nobody, step_key: "'/do/0/tell#0'", title: "'t'", text: "'t'" },
  },
  messages_notice_fk: { table: 'messages', change: { approval_id: 'null', notice_id: nobody } },
  notices_are_told_once: { table: 'notices', add: { id: id(9) } },
  notification_preferences_user_fk: { table: 'notification_preferences', change: { user_id: nobody } },
  quiet_hours_are_whole: { table: 'notification_preferences', change: { quiet_from: "'22:00'" } },
  messages_are_queued_once: { table: 'messages', add: { id: id(9) } },
  oauth_flow_answer_has_its_code: { table: 'oauth_flows', change: { answer_hash: "'h'" } },
  oauth_flow_is_bound: { table: 'oauth_flows', change: { browser_hash: 'null' } },
  oauth_flow_purpose_is_known: { table: 'oauth_flows', change: { purpose: "'fun'" } },
  one_encryption_key_seals_idx: { table: 'encryption_keys', add: { kid: "'other'" } },
  program_logins_login_id_logins_id_fk: { table: 'program_logins', change: { login_id: nobody } },
  provisioned_groups_have_one_name: { table: 'provisioned_groups', add: { id: id(9) } },
  provisioned_members_group_fk: { table: 'provisioned_members', change: { group_id: nobody } },
  provisioned_members_user_fk: { table: 'provisioned_members', change: { user_id: nobody } },
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
  reviews_closed_by_fk: { table: 'reviews', change: { ...closed, closed_by: nobody } },
  reviews_execution_fk: { table: 'reviews', change: { execution_id: nobody } },
  runs_execution_id_executions_id_fk: { table: 'runs', change: { execution_id: nobody } },
  runs_user_id_users_id_fk: { table: 'runs', change: { user_id: nobody } },
  session_version_counts_from_one: { table: 'sessions', change: { version: '0' } },
  sessions_login_id_logins_id_fk: { table: 'sessions', change: { login_id: nobody } },
  sessions_user_id_users_id_fk: { table: 'sessions', change: { user_id: nobody } },
  signals_delivery_idx: { table: 'signals', add: { event_id: "'2'" } },
  signals_execution_id_executions_id_fk: { table: 'signals', change: { execution_id: nobody } },
  comparison_is_skipped_at_a_time: { table: 'comparisons', change: { skipped: "'it is down'" } },
  drift_kind_is_known: { table: 'drifts', change: { kind: "'perhaps'" } },
  leftover_answer_is_known: { table: 'leftovers', change: { answer: "'perhaps'" } },
  leftovers_are_one_per_key: { table: 'leftovers', add: { id: id(23) } },
  clusters_is_one_row: { table: 'clusters', change: { one: 'false' } },
  restores_is_one_row: { table: 'restores', change: { one: 'false' } },
  starred_roles_user_fk: { table: 'starred_roles', change: { user_id: nobody } },
  step_kind_is_known: { table: 'steps', change: { kind: "'dance'" } },
  step_status_is_known: { table: 'steps', change: { status: "'lost'" } },
  steps_execution_id_executions_id_fk: { table: 'steps', change: { execution_id: nobody } },
  user_identities_user_id_users_id_fk: { table: 'user_identities', change: { user_id: nobody } },
  users_are_known_once_per_provider: { table: 'users', add: { id: id(9) } },
};

const insert = (table: string, values: Record<string, string>) =>
  `insert into ${table} (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`;

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

  it.each([`update comments set text = 'other'`, 'delete from comments'])('rejects "%s"', async (statement) => {
    await expect(database.sql.unsafe(statement)).rejects.toThrow('comments are append-only');
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
