import postgres from 'postgres';

/** How many executions each filler person has. */
const each = 20;
/** How many of the newest copies belong to the person whose lists are measured: more than a page. */
const own = 60;
/** How many of the newest copies have an open review, and how many after those a closed one: more than a page each. */
const reviews = { open: 50, closed: 50 };

/** The columns in which a copy differs from the original row, as SQL over `run` and the original, `one`. */
type Changes = Readonly<Record<string, string>>;

const ago = (column: string) => `${column} - run.n * interval '1 minute'`;
const run: Changes = { execution_id: 'run.id', user_id: 'run.owner' };
const grant: Changes = {
  id: `md5('grant' || run.n || one.id)::uuid`,
  entitlement_id: `md5('entitlement' || run.owner)::uuid`,
  created_at: ago('one.created_at'),
  activated_at: ago('one.activated_at'),
  activate_by: ago('one.activate_by'),
  expires_at: ago('one.expires_at'),
  ended_at: ago('one.ended_at'),
  gone_at: ago('one.gone_at'),
};
/** The actor of a copy: the filler person where the original actor is the requester, otherwise the original actor. */
const actor = `case when one.actor ->> 'id' = one.user_id::text
  then jsonb_set(one.actor, '{id}', to_jsonb(run.owner::text)) else one.actor end`;
const approval: Changes = { id: `md5('approval' || run.n || one.id)::uuid`, created_at: ago('one.created_at') };

/** The tables in which an execution has rows, each after the tables that it refers to. */
const left: readonly { table: string; own?: string; changes: Changes }[] = [
  {
    table: 'executions',
    own: 'id',
    changes: {
      id: 'run.id',
      owner_id: 'run.owner',
      created_at: ago('one.created_at'),
      started_at: ago('one.started_at'),
      ended_at: ago('one.ended_at'),
    },
  },
  { table: 'steps', changes: run },
  { table: 'grants', changes: { ...run, ...grant } },
  { table: 'approvals', changes: { ...run, ...approval } },
  { table: 'ledger', changes: { ...run, actor, seq: `nextval('ledger_seq_seq')`, at: ago('one.at') } },
  { table: 'task_events', changes: { ...run, actor, seq: `nextval('ledger_seq_seq')`, at: ago('one.at') } },
];

/**
 * Adds so many copies of executions that have ended, with all of their rows. The newest belong to `owner`, and twenty of the others to
 * each filler person. What lists show on their first pages is the same for any number of copies. Triggers do not run and foreign keys are not checked; the tables are vacuumed and analysed afterwards.
 */
export async function fill(
  url: string,
  { like, owner, executions }: { like: readonly string[]; owner: string; executions: number },
): Promise<void> {
  const models = like.map((id, index) => `(${index}, '${id}'::uuid)`).join(', ');
  const people = Math.ceil(executions / each);
  // A connection of its own, because Belay's connections cancel statements that take this long.
  const db = postgres(url, { max: 1, onnotice: () => {} });
  await db.begin(async (tx) => {
    await tx.unsafe('set local session_replication_role = replica');
    // Identifiers rise with time, as those of real executions do.
    await tx.unsafe(`
      create temporary table run on commit drop as select n, model.id as model,
        case when n <= ${own} then '${owner}' else md5('person' || n % ${people}) end::uuid as owner,
        (lpad(to_hex(1700000000000 + ${executions} - n), 12, '0') || '70008' || substr(md5(n::text), 1, 15))::uuid as id
      from generate_series(1, ${executions}) n join (values ${models}) model (place, id) on place = n % ${like.length}`);
    await tx.unsafe('analyze run');
    await addPeople(tx, people);
    await addEntitlements(tx, like);
    for (const { table, own = 'execution_id', changes } of left) {
      const columns = await columnsOf(tx, table);
      await tx.unsafe(`insert into ${table} (${columns.join(', ')})
          select ${columns.map((column) => changes[column] ?? `one.${column}`).join(', ')}
          from (select * from run order by n desc) run join ${table} one on one.${own} = run.model`);
    }
    await tx.unsafe(`insert into decisions (approval_id, approver_id, verdict, comment, request_digest, via, decided_at)
        select md5('approval' || run.n || one.approval_id)::uuid, approver_id, verdict, comment, one.request_digest, via, decided_at
        from run join approvals on approvals.execution_id = run.model join decisions one on one.approval_id = approvals.id`);
    await addReviews(tx);
  });
  await db.end();
  await vacuum(url);
}

/** Vacuums and analyses everything. */
export async function vacuum(url: string): Promise<void> {
  const db = postgres(url, { max: 1, onnotice: () => {} });
  await db.unsafe('vacuum (analyze)');
  await db.end();
}

type Executor = Pick<postgres.Sql, 'unsafe'>;

async function columnsOf(db: Executor, table: string): Promise<string[]> {
  const rows = await db.unsafe<{ name: string }[]>(
    `select column_name as name from information_schema.columns
      where table_schema = 'public' and table_name = '${table}' order by ordinal_position`,
  );
  return rows.map(({ name }) => name);
}

async function addPeople(db: Executor, people: number): Promise<void> {
  await db.unsafe(`insert into users (id, provider, subject, email, name, groups)
    select md5('person' || n)::uuid, 'operator', 'filler' || n, 'filler' || n || '@example.com', 'Filler', '["engineers"]'
    from generate_series(0, ${people - 1}) n`);
  await db.unsafe(`insert into user_identities (provider, subject, user_id, email, email_folded, name, groups)
    select provider, subject, id, email, email, name, groups from users where subject like 'filler%'`);
  await db.unsafe(`insert into logins (secret_hash, id, user_id, kind, provider, subject, expires_at)
    select 'filler' || subject, md5('login' || subject)::uuid, id, 'browser', provider, subject, app_now() + interval '5 hours'
    from users where subject like 'filler%'`);
}

/** Adds a review for each of the newest requests, the newest of them open, and a closed one for every hundredth, as if they had been emergencies. */
async function addReviews(db: Executor): Promise<void> {
  await db.unsafe(`insert into reviews (execution_id, rule, opened_at, due_at, closed_at, closed_by, verdict, note)
    select used.id, '{"users": [], "groups": ["approvers"]}', used.at, app_now() + interval '1 day', used.closed,
      case when used.closed is not null then approver.id end, case when used.closed is not null then 'justified' end,
      case when used.closed is not null then 'a benchmark' end
    from (select id, app_now() - n * interval '1 minute' as at,
        case when n > ${reviews.open} then app_now() - n * interval '1 minute' end as closed
      from run where n <= ${reviews.open + reviews.closed} or n % 100 = 0) used
    join users approver on approver.email = 'approver0@example.com'`);
}

/** Adds one entitlement for each person, because most executions grant access that the person has had before. */
async function addEntitlements(db: Executor, like: readonly string[]): Promise<void> {
  const columns = await columnsOf(db, 'entitlements');
  const changes: Changes = {
    id: `md5('entitlement' || person.id)::uuid`,
    key: `one.key || person.id`,
    state: `'absent'`,
  };
  const [first = ''] = like;
  await db.unsafe(`insert into entitlements (${columns.join(', ')})
    select ${columns.map((column) => changes[column] ?? `one.${column}`).join(', ')}
    from (select distinct owner as id from run) person, entitlements one
    where one.id = (select entitlement_id from grants where execution_id = '${first}')`);
}
