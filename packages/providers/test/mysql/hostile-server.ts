import type { Connection } from 'mysql2/promise';
import type { HostileSubject, Seat } from '../../src/testkit/index.js';
import { canRead, type Login, type MysqlServer, openServer } from './server.js';

/** A holder's seat in MariaDB. */
export interface MysqlSeat extends Seat {
  server: MysqlServer;
  admin: Connection;
  role: string;
  holder: Login;
  /** Another account, without the role. */
  accomplice: Login;
}

/** Opens a server whose holders may create objects in a schema of their own, which the configuration must permit. */
export async function openHostileServer(): Promise<HostileSubject<MysqlSeat>> {
  const server = await openServer();
  await server.admin.query('set global event_scheduler = on');
  return {
    authorizer: await server.authorizer({ accept_objects_left_behind: true }),
    async seat() {
      const [role, holder, accomplice] = [await server.role(), await server.login(), await server.login()];
      await server.admin.query(`create database own_${holder.user}; grant all on own_${holder.user}.* to ${holder.user}@'%';
        grant select, execute on own_${holder.user}.* to ${accomplice.user}@'%'`);
      return {
        server,
        admin: server.admin,
        role,
        holder,
        accomplice,
        entitlement: { id: `entitlement-${holder.user}`, identity: holder.identity, access: { role } },
        canUse: () => canRead(holder, role),
        close: () => Promise.all([holder.close(), accomplice.close()]).then(() => {}),
      };
    },
    close: () => server.close(),
  };
}
