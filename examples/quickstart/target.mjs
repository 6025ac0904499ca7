// The demo's target as the requester meets it: real connections to PostgreSQL, with the requester's own password.
import postgres from 'postgres';

const query = 'select region, sum(amount)::float as revenue from reporting.revenue group by region order by region';

const open = new Set();

/** Returns a session of the requester's own. `pid` is the server's number of it. */
export async function connect(databaseUrl) {
  const sql = postgres(databaseUrl, {
    max: 1,
    onnotice: () => {},
    connect_timeout: 5,
    idle_timeout: 0,
    max_lifetime: null,
    // Array types are not used here, and reading them in the background would fail unheard when the session is ended.
    fetch_types: false,
  });
  open.add(sql);
  const [{ pid }] = await sql`select pg_backend_pid() as pid`;
  return {
    pid,
    read: () => sql.unsafe(query),
    /** Whether it is still the session that it was: the driver would open another in its place without a word. */
    isOpen: () =>
      sql`select pg_backend_pid() as pid`.then(
        ([now]) => now.pid === pid,
        () => false,
      ),
    close: () => close(sql),
  };
}

async function close(sql) {
  open.delete(sql);
  await sql.end({ timeout: 1 }).catch(() => {});
}

/** Closes what is still open, also when the story broke off. */
export async function closeAll() {
  await Promise.all([...open].map(close));
}

/** Does one thing on a new connection and closes it. */
export async function once(databaseUrl, work) {
  const connection = await connect(databaseUrl);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Returns whether the requester is a member of the database role, as the server's own catalog has it. */
export async function isMember(databaseUrl, role) {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {}, connect_timeout: 5, fetch_types: false });
  try {
    const rows = await sql`
      select from pg_auth_members m
      join pg_roles r on r.oid = m.roleid join pg_roles i on i.oid = m.member
      where r.rolname = ${role} and i.rolname = current_user`;
    return rows.length > 0;
  } catch (error) {
    // When access expires its sessions are ended, this one perhaps too; that says nothing about membership.
    if (['57P01', 'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'ECONNRESET'].includes(error.code))
      return isMember(databaseUrl, role);
    throw error;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
