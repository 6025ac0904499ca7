// The demo's target as the requester uses it: real connections to PostgreSQL with the requester's own password.
import postgres from 'postgres';

const query = 'select region, sum(amount)::float as revenue from reporting.revenue group by region order by region';

const open = new Set();

/** Opens a connection of the requester. `pid` is the process id of its session at the server. */
export async function connect(databaseUrl) {
  const sql = postgres(databaseUrl, {
    max: 1,
    onnotice: () => {},
    connect_timeout: 5,
    idle_timeout: 0,
    max_lifetime: null,
    // Array types are not used here. Reading them in the background would fail unnoticed when the session is ended.
    fetch_types: false,
  });
  open.add(sql);
  const [{ pid }] = await sql`select pg_backend_pid() as pid`;
  return {
    pid,
    read: () => sql.unsafe(query),
    /** Returns whether this is still the same session: the driver would replace an ended one without an error. */
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

/** Closes all open connections, also after the story has failed. */
export async function closeAll() {
  await Promise.all([...open].map(close));
}

/** Calls `work` with a new connection and closes it afterwards. */
export async function once(databaseUrl, work) {
  const connection = await connect(databaseUrl);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

/** Returns whether the requester is a member of the database role, according to the server's own catalog. */
export async function isMember(databaseUrl, role) {
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {}, connect_timeout: 5, fetch_types: false });
  try {
    const rows = await sql`
      select from pg_auth_members m
      join pg_roles r on r.oid = m.roleid join pg_roles i on i.oid = m.member
      where r.rolname = ${role} and i.rolname = current_user`;
    return rows.length > 0;
  } catch (error) {
    // When access expires, its sessions are ended, perhaps also this one; that says nothing about the membership, so try again.
    if (['57P01', 'CONNECTION_CLOSED', 'CONNECTION_ENDED', 'CONNECTION_DESTROYED', 'ECONNRESET'].includes(error.code))
      return isMember(databaseUrl, role);
    throw error;
  } finally {
    await sql.end({ timeout: 1 });
  }
}
