import type postgres from 'postgres';
import type { Attack, Foothold } from '../../../src/testkit/index.js';
import { beginSession, canRead, type PostgresSeat, tryTo, worksIn } from './server.js';

type PostgresAttack = Attack<PostgresSeat>;

const fetching = 'fetch 1 from kept';
const opening = [
  'begin',
  'declare kept scroll cursor for select answer from public.report, generate_series(1, 100000)',
];
const end = async (...sessions: postgres.Sql[]) => {
  await Promise.all(sessions.map((sql) => sql.end({ timeout: 0 }).catch(() => {})));
};

/** Opens a session that runs `statements`. While the session lives, `statement` is tried in it. */
async function session(sql: postgres.Sql, statements: string[], statement: string): Promise<Foothold> {
  const pid = await beginSession(sql, ...statements);
  return { reaches: worksIn(sql, pid, statement), stop: () => end(sql) };
}

/** Tries each of the statements, and then tries over new connections to use what they created. */
function statements(list: (seat: PostgresSeat) => string[], use: (seat: PostgresSeat) => string): PostgresAttack {
  return async (seat) => {
    const sql = seat.holder.connect();
    for (const statement of list(seat)) await tryTo(sql, statement);
    return {
      reaches: async () => {
        const again = seat.holder.connect();
        const reached = (await tryTo(again, use(seat))) || (await canRead(again));
        await end(again);
        return reached;
      },
      stop: () => end(sql),
    };
  };
}

/** What a holder does with sessions that are open when the access ends. */
const sessions: Record<string, PostgresAttack> = {
  'keeps a cursor open': ({ holder }) => session(holder.connect(), opening, fetching),
  'keeps a cursor beyond its transaction': ({ holder }) =>
    session(
      holder.connect(),
      ['declare kept cursor with hold for select answer from public.report'],
      'fetch first from kept',
    ),
  'keeps a cursor in a subtransaction': ({ holder }) =>
    session(holder.connect(), ['begin', 'savepoint one', ...opening.slice(1), 'savepoint two'], fetching),
  'keeps a copy in a temporary table': ({ holder }) =>
    session(holder.connect(), ['create temp table kept as select answer from public.report'], 'select from kept'),
  'leaves a transaction open in which they changed their own settings': ({ holder }) =>
    session(
      holder.connect(),
      [
        'begin',
        `alter role ${holder.name} set idle_session_timeout = 0`,
        `alter role ${holder.name} set search_path = ${`own_${holder.name}`}, pg_catalog`,
        `alter role ${holder.name} password 'another'`,
      ],
      'select answer from public.report',
    ),
  'takes the lock that the connector once took': ({ holder, role }) =>
    session(
      holder.connect(),
      [`select pg_advisory_lock(hashtextextended('["belay","${role}","${holder.name}"]', 0))`, ...opening],
      fetching,
    ),
  'reads in a statement that does not end': async ({ holder, admin }) => {
    const sql = holder.connect();
    const pid = await beginSession(sql, 'create temp table kept (answer int)');
    const running = sql
      .unsafe(`do $$ begin loop execute 'insert into kept select answer from public.report limit 1'; end loop; end $$`)
      .catch(() => {});
    const alive = async () => (await admin`select from pg_stat_activity where pid = ${pid}`).length > 0;
    return {
      reaches: alive,
      stop: async () => {
        await end(sql);
        await running;
      },
    };
  },
  'lets a copy run that they do not read': async ({ holder, admin }) => {
    const sql = holder.connect();
    const pid = await beginSession(sql);
    const stream = await sql
      .unsafe(`copy (select answer, repeat('x', 10000) from public.report, generate_series(1, 10000)) to stdout`)
      .readable();
    stream.on('error', () => {});
    return {
      reaches: async () => (await admin`select from pg_stat_activity where pid = ${pid}`).length > 0,
      stop: () => end(sql),
    };
  },
  'keeps a cursor in another database of the server': ({ holder, otherDatabase }) =>
    session(holder.connect(otherDatabase), opening, fetching),
  'lets a member act as them, through another member': async ({ holder, accomplice, admin, server }) => {
    const between = await server.login();
    await admin.unsafe(`grant ${holder.name} to ${between.name}; grant ${between.name} to ${accomplice.name}`);
    return session(accomplice.connect(), [`set role ${holder.name}`, ...opening], fetching);
  },
  'lets another login keep a cursor on a view of theirs': async ({ holder, accomplice }) => {
    const own = `own_${holder.name}`;
    const sql = holder.connect();
    await sql.unsafe(`
      create view ${own}.kept as select answer from public.report, generate_series(1, 100000);
      grant usage on schema ${own} to public; grant select on ${own}.kept to public`);
    await end(sql);
    return session(
      accomplice.connect(),
      ['begin', `declare kept scroll cursor for select * from ${own}.kept`],
      fetching,
    );
  },
  'lets another login, in another database, go on in a function of theirs that is dropped': async (seat) => {
    const { holder, accomplice, admin, otherDatabase } = seat;
    const [sql, other] = [holder.connect(otherDatabase), accomplice.connect(otherDatabase)];
    const own = `own_${holder.name}`;
    await sql.unsafe(`create schema ${own}`);
    await sql.unsafe(`create function ${own}.kept() returns void language plpgsql security definer
      as $$ begin loop perform pg_sleep(0.01), answer from public.report; end loop; end $$`);
    await sql.unsafe(`grant usage on schema ${own} to public`);
    const pid = await beginSession(other);
    const running = tryTo(other, `select ${own}.kept()`);
    const reads = async () =>
      (await admin`select from pg_locks where pid = ${pid} and locktype = 'relation' and relation >= 16384`).length > 0;
    while (!(await reads())) await new Promise((done) => setTimeout(done, 5));
    await sql.unsafe(`drop function ${own}.kept()`);
    return {
      reaches: reads,
      stop: async () => {
        await end(sql, other);
        await running;
      },
    };
  },
  'connects again and again': async ({ holder }) => {
    let [reads, rounds, over] = [0, 0, false];
    const loops = Array.from({ length: 4 }, async () => {
      while (!over) {
        if (await canRead(holder.connect())) reads += 1;
        rounds += 1;
      }
    });
    return {
      crowds: true,
      reaches: async () => {
        // Reads that had begun before the access ended do not count.
        const begin = rounds + loops.length;
        while (rounds < begin) await new Promise((done) => setTimeout(done, 2));
        reads = 0;
        const last = rounds + loops.length;
        while (rounds < last) await new Promise((done) => setTimeout(done, 2));
        return reads > 0;
      },
      stop: async () => {
        over = true;
        await Promise.all(loops);
      },
    };
  },
};

/** What a holder does to use up the server's connections or locks, so that the access cannot be ended. */
const exhaustion: Record<string, PostgresAttack> = {
  'opens connections until the server is full': async ({ holder, server }) => {
    await server.forgetIdle();
    const kept = await session(holder.connect(), opening, fetching);
    const filling = Array.from({ length: 40 }, () => holder.connect());
    await Promise.all(filling.map((sql) => tryTo(sql, 'select answer from public.report')));
    return {
      crowds: true,
      reaches: kept.reaches,
      stop: async () => {
        await kept.stop();
        await end(...filling);
      },
    };
  },
  'takes every lock that the server has room for': async ({ holder, server }) => {
    const kept = await session(holder.connect(), opening, fetching);
    const sql = holder.connect();
    await tryTo(
      sql,
      `do $$ begin for k in 1..1000000 loop begin perform pg_advisory_lock(k); exception when others then exit; end; end loop; end $$`,
    );
    await server.forgetIdle().catch(() => {});
    return {
      crowds: true,
      reaches: kept.reaches,
      stop: async () => {
        await kept.stop();
        await end(sql);
      },
    };
  },
};

/** The objects that a holder creates. */
const building: Record<string, PostgresAttack> = {
  'becomes the role and builds a function as its owner': statements(
    ({ role, holder }) => [
      `set role ${role}`,
      `create function both_${holder.name}.kept() returns setof int language sql security definer as 'select answer from public.report'`,
      `alter function both_${holder.name}.kept() owner to ${role}`,
      `alter role ${holder.name} set role = ${role}`,
    ],
    ({ holder }) => `select both_${holder.name}.kept()`,
  ),
  'builds views, functions and rules of their own': async (seat) => {
    const own = `own_${seat.holder.name}`;
    const sql = seat.holder.connect();
    for (const statement of [
      `create view ${own}.kept as select answer from public.report`,
      `create function ${own}.kept() returns setof int language sql security definer as 'select answer from public.report'`,
      `create table ${own}.ruled (answer int)`,
      `create rule kept as on insert to ${own}.ruled do instead select answer from public.report`,
      `grant usage on schema ${own} to public`,
      `grant select on ${own}.kept to public`,
    ])
      await sql.unsafe(statement);
    return {
      reaches: async () => {
        for (const login of [seat.holder, seat.accomplice]) {
          for (const use of [
            `select * from ${own}.kept`,
            `select * from ${own}.kept()`,
            `insert into ${own}.ruled values (1)`,
          ]) {
            const again = login.connect();
            const reached = await tryTo(again, use);
            await end(again);
            if (reached) return true;
          }
        }
        return false;
      },
      stop: () => end(sql),
    };
  },
  'attaches a trigger and a foreign key to the table': async (seat) => {
    const own = `own_${seat.holder.name}`;
    const sql = seat.holder.connect();
    await sql.unsafe(`create table ${own}.seen (line text)`);
    await sql.unsafe(
      `create function ${own}.see() returns trigger language plpgsql security definer as $$ begin insert into ${own}.seen values (new.line); return new; end $$`,
    );
    await tryTo(sql, `create trigger kept before insert on public.log for each row execute function ${own}.see()`);
    await tryTo(sql, `create event trigger kept on ddl_command_start execute function ${own}.see()`);
    await tryTo(sql, `create policy kept on public.log using (true)`);
    return {
      reaches: async () => {
        await seat.admin`insert into public.log values ('secret')`;
        return (await seat.admin.unsafe(`select from ${own}.seen`)).length > 0;
      },
      stop: () => end(sql),
    };
  },
  'hands the privileges on': async (seat) => {
    const sql = seat.holder.connect();
    for (const statement of [
      `grant select on public.report to ${seat.accomplice.name}`,
      `grant select on public.report to ${seat.holder.name}`,
      `grant ${seat.role} to ${seat.accomplice.name}`,
      `grant ${seat.holder.name} to ${seat.accomplice.name}`,
      `reassign owned by ${seat.role} to ${seat.holder.name}`,
      `drop owned by ${seat.role}`,
    ])
      await tryTo(sql, statement);
    return { reaches: () => canRead(seat.accomplice.connect()), stop: () => end(sql) };
  },
  'changes the default privileges of the role': async (seat) => {
    const sql = seat.holder.connect();
    await sql.unsafe(`alter default privileges for role ${seat.role} grant select on tables to ${seat.holder.name}`);
    return {
      reaches: () => canRead(seat.holder.connect()),
      cleanUp: async () => {
        await seat.admin.unsafe(
          `alter default privileges for role ${seat.role} revoke select on tables from ${seat.holder.name}`,
        );
      },
      stop: () => end(sql),
    };
  },
  'has the role own a function where they can replace it': async (seat) => {
    await seat.admin.unsafe(
      `create function both_${seat.holder.name}.kept() returns setof int language sql security definer as 'select answer from public.report'`,
    );
    await seat.admin.unsafe(`alter function both_${seat.holder.name}.kept() owner to ${seat.role}`);
    return {
      // The revocation names the function, but the connector cannot remove it.
      reaches: () => canRead(seat.holder.connect()),
      cleanUp: async () => {
        await seat.admin.unsafe(`drop function both_${seat.holder.name}.kept()`);
      },
      stop: async () => {},
    };
  },
  'prepares a transaction': async (seat) => {
    const sql = seat.holder.connect();
    await sql.unsafe(`begin`);
    await sql.unsafe(`insert into public.log values ('later')`);
    await sql.unsafe(`prepare transaction 'kept'`);
    return {
      reaches: () => canRead(seat.holder.connect()),
      cleanUp: async () => {
        await seat.admin.unsafe(`rollback prepared 'kept'`);
      },
      stop: () => end(sql),
    };
  },
  'prepares a transaction as a group that they belong to': async ({ admin, holder }) => {
    await admin.unsafe(`create role group_${holder.name}; grant group_${holder.name} to ${holder.name}`);
    const sql = holder.connect();
    await sql.unsafe('begin');
    await sql.unsafe(`insert into public.log values ('later')`);
    await sql.unsafe(`set local role group_${holder.name}`);
    await sql.unsafe(`prepare transaction 'grouped'`);
    return {
      reaches: () => canRead(holder.connect()),
      cleanUp: async () => {
        await admin.unsafe(`rollback prepared 'grouped'`);
      },
      stop: () => end(sql),
    };
  },
};

/** What a holder does to names, and to other logins and roles. */
const others: Record<string, PostgresAttack> = {
  'is renamed, and so is the role, with others in their place': async ({ admin, role, holder, entitlement }) => {
    await admin.unsafe(`
      alter role ${role} rename to ${role}_before; alter role ${holder.name} rename to ${holder.name}_before;
      create role ${role}; create role ${holder.name} login; grant ${role} to ${holder.name}`);
    const sql = holder.connect();
    const reads = async () => {
      const [row] = await admin<[{ can: boolean }]>`
        select has_table_privilege(${`${holder.name}_before`}, 'public.report', 'SELECT') as can`;
      const standing = await admin`
        select from pg_auth_members
        where roleid = ${String(entitlement.access.role)}::regrole and member = ${holder.name}::regrole`;
      // The new roles with the old names are not touched.
      return row.can || standing.length !== 1;
    };
    return { reaches: reads, stop: () => end(sql) };
  },
  'is dropped while a session goes on': async ({ admin, holder }) => {
    const sql = holder.connect();
    const foothold = await session(sql, opening, fetching);
    await admin.unsafe(
      `drop schema own_${holder.name} cascade; drop owned by ${holder.name}; drop role ${holder.name}`,
    );
    return foothold;
  },
  'is a member of hundreds of roles': async ({ admin, holder }) => {
    await admin.unsafe(`do $$ begin for k in 1..300 loop
      execute format('create role many_${holder.name}_%s', k);
      execute format('grant many_${holder.name}_%s to ${holder.name}', k); end loop; end $$`);
    return session(holder.connect(), opening, fetching);
  },
  'tries what is not theirs': statements(
    ({ role, holder }) => [
      'begin',
      'lock table pg_catalog.pg_auth_members in access exclusive mode',
      'rollback',
      'begin',
      'lock table pg_catalog.pg_auth_members in share mode',
      'rollback',
      `comment on role ${role} is 'mine'`,
      `alter role ${role} rename to mine`,
      `alter role ${holder.name} rename to mine`,
      `alter role ${role} password 'mine'`,
      `alter role ${holder.name} createrole`,
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'belay'`,
      `select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'belay'`,
      `select pg_create_logical_replication_slot('kept', 'pgoutput')`,
      'create publication kept for all tables',
      `create subscription kept connection 'host=127.0.0.1' publication kept`,
      `alter system set log_statement = 'all'`,
      `set session authorization ${role}`,
      `grant ${role} to ${holder.name} with admin option`,
      `revoke ${role} from ${holder.name}`,
      'create extension dblink',
      'create server kept foreign data wrapper postgres_fdw',
      `listen kept`,
      `alter role ${holder.name} password 'another'`,
    ],
    () => `set role to 'postgres'`,
  ),
};

export const attacks = { ...sessions, ...exhaustion, ...building, ...others };
