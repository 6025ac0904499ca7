import { randomBytes } from 'node:crypto';
import type { Logger } from '@belay/core';
import { Client } from 'pg';
import { hasRedis, startRedis } from '../../../../chaos/src/stage/redis.js';
import type { QueueBackend } from '../../src/backend.js';
import { openQueueBackend } from '../../src/open-backend.js';
import { startProxy } from './proxy.js';
import { startRedisCluster } from './redis-cluster.js';

/** A real server that jobs can travel over, and that a test may take down. */
export interface Transport {
  open(log: Logger): Promise<QueueBackend>;
  down(): Promise<void>;
  up(): Promise<void>;
  stop(): Promise<void>;
}

export const transports: { kind: 'redis' | 'redis cluster' | 'postgres'; start(): Promise<Transport> }[] = [
  { kind: 'postgres', start: startPostgresTransport },
];

const redisUrl = process.env.BELAY_TEST_REDIS_URL;
if (redisUrl !== undefined || hasRedis()) transports.push({ kind: 'redis', start: startRedisTransport });
else console.warn('queues over Redis are not tested: no redis-server on the PATH and no BELAY_TEST_REDIS_URL');
if (hasRedis()) transports.push({ kind: 'redis cluster', start: startClusterTransport });

/** Returns a new empty database of the test server; `drop` removes it with every connection that is left. */
export async function createDatabase(): Promise<{ url: URL; drop(): Promise<void> }> {
  const server = process.env.BELAY_TEST_DATABASE_URL;
  if (server === undefined)
    throw new Error('BELAY_TEST_DATABASE_URL must name a PostgreSQL server and a superuser of it');
  const name = `belay_worker_${randomBytes(6).toString('hex')}`;
  const run = async (sql: string) => {
    const client = new Client(server);
    await client.connect();
    try {
      await client.query(sql);
    } finally {
      await client.end();
    }
  };
  await run(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return { url, drop: () => run(`drop database ${name} with (force)`) };
}

async function startPostgresTransport(): Promise<Transport> {
  const { url, drop } = await createDatabase();
  const proxy = await startProxy(url.hostname, Number(url.port || 5432));
  const proxied = new URL(url);
  proxied.hostname = '127.0.0.1';
  proxied.port = String(proxy.port);
  return {
    open: (log) => openQueueBackend({ databaseUrl: proxied.href, log }),
    down: proxy.down,
    up: proxy.up,
    async stop() {
      await proxy.down();
      await drop();
    },
  };
}

function openRedis(url: string): Transport['open'] {
  const prefix = `{belay-${randomBytes(4).toString('hex')}}`;
  return (log) => openQueueBackend({ redisUrl: url, databaseUrl: '', prefix, log });
}

async function startClusterTransport(): Promise<Transport> {
  const { url, kill, start, stop } = await startRedisCluster();
  return { open: openRedis(url), down: () => kill(), up: () => start(), stop };
}

async function startRedisTransport(): Promise<Transport> {
  if (redisUrl !== undefined) {
    const url = new URL(redisUrl);
    const proxy = await startProxy(url.hostname, Number(url.port || 6379));
    url.hostname = '127.0.0.1';
    url.port = String(proxy.port);
    return { open: openRedis(url.href), down: proxy.down, up: proxy.up, stop: proxy.down };
  }
  const server = await startRedis();
  return {
    open: openRedis(`redis://127.0.0.1:${server.port}`),
    down: server.kill,
    up: server.start,
    stop: server.stop,
  };
}
