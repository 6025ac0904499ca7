import { type Connection, createConnection } from 'mysql2/promise';
import type { Attack, Foothold } from '../../src/testkit/index.js';
import type { MysqlSeat } from './hostile-server.js';
import { canRead, tryTo } from './server.js';

type MysqlAttack = Attack<MysqlSeat>;

const reading = 'select * from app.report';

/** Opens a connection, sets the role and runs `statements`. While the connection lives, `statement` is tried in it. */
async function session({ holder, role }: MysqlSeat, statements: string[], statement = reading): Promise<Foothold> {
  const connection = await holder.connect();
  for (const one of [`set role ${role}`, ...statements]) await connection.query(one);
  return { reaches: () => tryTo(connection, statement), stop: async () => connection.destroy() };
}

/** Creates objects with the role set. Then the accomplice and the holder, both without the role, try to use them. */
function builds(
  statements: (seat: MysqlSeat) => string[],
  use: (seat: MysqlSeat) => string,
  undo?: (seat: MysqlSeat) => string,
): MysqlAttack {
  return async (seat) => {
    const connection = await seat.holder.connect();
    await connection.query(`set role ${seat.role}`);
    for (const statement of statements(seat)) await connection.query(statement);
    const uses = async () => {
      const again = [await seat.accomplice.connect(), await seat.holder.connect()];
      const used = await Promise.all(again.map((one) => tryTo(one, use(seat))));
      for (const one of again) one.destroy();
      return used.includes(true);
    };
    return {
      // An object that only an operator can remove is usable until it is removed, and the revocation reports it.
      reaches: undo ? async () => false : uses,
      ...(undo && { cleanUp: async () => void (await seat.admin.query(undo(seat))) }),
      stop: async () => connection.destroy(),
    };
  };
}

/** Connects again and again and uses the role, until it is stopped. */
const reconnects: MysqlAttack = async ({ holder, role }) => {
  let [reads, rounds, over] = [0, 0, false];
  const loops = Array.from({ length: 4 }, async () => {
    while (!over) {
      if (await canRead(holder, role)) reads += 1;
      rounds += 1;
    }
  });
  const turns = async (count: number) => {
    const last = rounds + count;
    while (rounds < last) await new Promise((done) => setTimeout(done, 2));
  };
  return {
    crowds: true,
    reaches: async () => {
      // Reads that had begun before the access ended do not count.
      await turns(loops.length);
      reads = 0;
      await turns(loops.length);
      return reads > 0;
    },
    stop: async () => {
      over = true;
      await Promise.all(loops);
    },
  };
};

/** What a holder does to keep the access. */
export const attacks: Record<string, MysqlAttack> = {
  'keeps a connection open with the role set': (seat) => session(seat, []),
  'keeps a transaction open': (seat) => session(seat, ['start transaction with consistent snapshot', reading]),
  'keeps a prepared statement': (seat) => session(seat, [`prepare kept from '${reading}'`], 'execute kept'),
  'keeps a lock on the table': (seat) => session(seat, ['lock tables app.report read']),
  'makes the role their default role and keeps connections open': async (seat) => {
    const kept = await session(seat, [`set default role ${seat.role}`]);
    const later = await seat.holder.connect();
    return {
      reaches: async () => (await kept.reaches()) || (await tryTo(later, reading)),
      stop: async () => {
        await kept.stop();
        later.destroy();
      },
    };
  },
  'sets another password and keeps a connection open': (seat) =>
    session(seat, ["set password = password('another')", `set password = password('${seat.server.password}')`]),
  'takes the locks of Belay’s names': (seat) =>
    session(seat, [`select get_lock('belay', 0), get_lock('${seat.role}', 0), get_lock('${seat.entitlement.id}', 0)`]),
  'reads in a statement that does not end': async (seat) => {
    const connection = await seat.holder.connect();
    await connection.query(`set role ${seat.role}`);
    const id = connection.threadId;
    const running = connection.query('select sleep(600), answer from app.report').catch(() => {});
    const isAlive = async () => {
      const [rows] = await seat.admin.query(`select 1 from information_schema.processlist where id = ${id}`);
      return (rows as unknown[]).length > 0;
    };
    return {
      reaches: isAlive,
      stop: async () => {
        connection.destroy();
        await running;
      },
    };
  },
  'has an event set the role and read in a loop': async (seat) => {
    const connection = await seat.holder.connect();
    const own = `own_${seat.holder.user}`;
    await connection.query(`create table ${own}.kept (line int)`);
    await connection.query(`create event ${own}.reading on schedule every 1 second do begin
      set role ${seat.role};
      loop insert into ${own}.kept ${reading}; do sleep(0.01); end loop;
    end`);
    const count = async () => {
      const [rows] = await seat.admin.query(`select count(*) as lines_read from ${own}.kept`);
      return (rows as { lines_read: number }[])[0]?.lines_read ?? 0;
    };
    const isReading = async () => {
      const before = await count();
      await new Promise((done) => setTimeout(done, 50));
      return (await count()) > before;
    };
    while (!(await isReading()));
    return { reaches: isReading, stop: async () => void (await seat.admin.query(`drop event ${own}.reading`)) };
  },
  'has the account renamed twice, with a connection of each name': async (seat) => {
    const first = await session(seat, []);
    const { user } = seat.holder;
    await seat.admin.query(`rename user ${user}@'%' to ${user}_b@'%'`);
    const second = await connectAs(seat, `${user}_b`);
    await second.query(`set role ${seat.role}`);
    await seat.admin.query(`rename user ${user}_b@'%' to ${user}_c@'%'`);
    const again = async () => {
      const third = await connectAs(seat, `${user}_c`);
      const used = await tryTo(third, `set role ${seat.role}`);
      third.destroy();
      return used;
    };
    return {
      reaches: async () => (await first.reaches()) || (await tryTo(second, reading)) || (await again()),
      stop: async () => {
        await first.stop();
        second.destroy();
      },
    };
  },
  'has the account dropped, with a connection open': async (seat) => {
    const kept = await session(seat, []);
    await seat.admin.query(`drop user ${seat.holder.user}@'%'`);
    return kept;
  },
  'gets the admin option from another person': async (seat) => {
    await seat.admin.query(`grant ${seat.role} to ${seat.holder.user}@'%' with admin option`);
    const kept = await session(seat, []);
    const granting = await seat.holder.connect();
    return {
      reaches: async () =>
        (await kept.reaches()) || (await tryTo(granting, `grant ${seat.role} to ${seat.holder.user}@'%'`)),
      stop: async () => {
        await kept.stop();
        granting.destroy();
      },
    };
  },
  'connects again and again': reconnects,
  'connects again and again, with a connection open': async (seat) => {
    const [kept, again] = [await session(seat, []), await reconnects(seat)];
    return {
      crowds: true,
      reaches: async () => (await kept.reaches()) || (await again.reaches()),
      stop: async () => {
        await kept.stop();
        await again.stop();
      },
    };
  },
  'uses all connections of the server': async (seat) => {
    const kept = await session(seat, []);
    const filling: Connection[] = [];
    for (;;) {
      const one = await seat.holder.connect().catch(() => undefined);
      if (!one) break;
      filling.push(one);
    }
    return {
      crowds: true,
      reaches: kept.reaches,
      stop: async () => {
        await kept.stop();
        for (const one of filling) one.destroy();
      },
    };
  },
  'makes a view that runs as its caller': builds(
    ({ holder }) => [`create sql security invoker view own_${holder.user}.kept as ${reading}`],
    ({ holder }) => `select * from own_${holder.user}.kept`,
  ),
  'makes a view that runs as themselves': builds(
    ({ holder }) => [`create sql security definer view own_${holder.user}.kept as ${reading}`],
    ({ holder }) => `select * from own_${holder.user}.kept`,
  ),
  'makes a routine that runs as themselves': builds(
    ({ holder }) => [`create procedure own_${holder.user}.kept() ${reading}`],
    ({ holder }) => `call own_${holder.user}.kept()`,
  ),
  'makes an event, a trigger and a routine that run as the role': builds(
    ({ holder }) => [
      `create table own_${holder.user}.log (line int)`,
      `create definer = current_role trigger own_${holder.user}.kept before insert on own_${holder.user}.log
       for each row set new.line = (select answer from app.report)`,
      `create definer = current_role event own_${holder.user}.kept on schedule every 1 hour do ${reading}`,
    ],
    ({ holder }) => `insert into own_${holder.user}.log values (1)`,
  ),
  'makes a view that runs as the role': builds(
    ({ holder }) => [`create definer = current_role sql security definer view own_${holder.user}.kept as ${reading}`],
    ({ holder }) => `select * from own_${holder.user}.kept`,
    ({ holder }) => `drop view own_${holder.user}.kept`,
  ),
  'makes a routine that runs as the role': builds(
    ({ holder }) => [`create definer = current_role procedure own_${holder.user}.kept() ${reading}`],
    ({ holder }) => `call own_${holder.user}.kept()`,
    ({ holder }) => `drop procedure own_${holder.user}.kept`,
  ),
  'lets another account act as them': builds(
    ({ holder, accomplice }) => [`grant proxy on ${holder.user}@'%' to ${accomplice.user}@'%'`],
    () => reading,
    ({ holder, accomplice }) => `revoke proxy on ${holder.user}@'%' from ${accomplice.user}@'%'`,
  ),
};

async function connectAs({ server }: MysqlSeat, user: string): Promise<Connection> {
  const { target, password } = server;
  const connection = await createConnection({ host: '127.0.0.1', port: target.port, user, password });
  connection.on('error', () => {});
  return connection;
}
