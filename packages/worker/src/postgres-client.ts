import { askForSettings, examineSession, meaningSettings } from '@belay/contract/postgres-session';
import { offersTls, readTls, verifiedOptions } from '@belay/contract/postgres-tls';
import type { Client, ClientConfig } from 'pg';

/** How long the server may take to say whether it offers TLS, in milliseconds. */
const answerMilliseconds = 5_000;

/** The settings of a connection of the queue. BullMQ finds its tables by the search path. */
const ownSettings = {
  ...meaningSettings,
  search_path: 'bullmq',
  // A job may be lost at any time, so its commits need not wait for the disk; rows of Belay's own use another pool.
  synchronous_commit: 'off',
};

/**
 * Returns the options of `pg` for the server of a URL. TLS means what libpq means by it, and the environment of the process decides
 * nothing. Rejects when the server has to be asked whether it offers TLS, and is not reachable.
 */
export async function addressOf(url: string): Promise<ClientConfig> {
  const tls = readTls(url);
  const plain = tls.mode === 'prefer' && !(await offersTls(tls.url, answerMilliseconds));
  return {
    connectionString: tls.url,
    ssl: plain ? false : verifiedOptions(tls),
    sslnegotiation: tls.direct ? 'direct' : 'postgres',
    application_name: 'belay-queue',
  };
}

/**
 * Asks for the settings of a new connection, and examines it, in one round trip. As statements, because `pg` sends few settings
 * when it connects, and poolers drop those that they do not know. Throws `SessionFault`.
 */
export async function prepareSession(client: Pick<Client, 'query'>, settings: Record<string, number>): Promise<void> {
  const asked = { ...ownSettings, ...settings };
  const { text, judge } = examineSession(asked, 'jobs');
  // Several statements in one text have a result each, which the types of `pg` do not know.
  const results: unknown = await client.query(`${askForSettings(asked)}; ${text}`);
  const [, found] = results as [unknown, { rows: { name: string; setting: string }[] }];
  const fault = judge(found.rows);
  if (fault !== undefined) throw fault;
}
