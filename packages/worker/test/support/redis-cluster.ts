import { findFreePort } from '@belay/host';
import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from '../../../../chaos/src/stage/redis.js';

export interface RedisCluster {
  /** The addresses of all nodes, as `REDIS_URL` has them. */
  url: string;
  /** Kills nodes with SIGKILL, by default all. They lose their data and keep their slots. */
  kill(nodes?: readonly RedisServer[]): Promise<void>;
  /** Starts nodes that were killed; resolves when the cluster is whole. */
  start(nodes?: readonly RedisServer[]): Promise<void>;
  stop(): Promise<void>;
  /** Returns the node that holds the slot of a key. */
  holderOf(key: string): Promise<RedisServer>;
}

const slots = 16_384;

/** Starts a Redis Cluster of three masters without replicas on free ports. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const all = await Promise.all([0, 1, 2].map(startNode));
  const [first] = all;
  if (first === undefined) throw new Error('A cluster has nodes');
  for (const [index, { port }] of all.entries()) {
    const bound = (of: number) => Math.floor((of * slots) / all.length);
    await ask(port, ['CLUSTER', 'ADDSLOTSRANGE', bound(index), bound(index + 1) - 1]);
  }
  for (const { port, busPort } of all.slice(1)) await ask(first.port, ['CLUSTER', 'MEET', '127.0.0.1', port, busPort]);
  await Promise.all(all.map(whole));

  return {
    url: all.map(({ port }) => `redis://127.0.0.1:${port}`).join(','),
    async kill(nodes = all) {
      await Promise.all(nodes.map((node) => node.kill()));
    },
    async start(nodes = all) {
      await Promise.all(nodes.map((node) => node.start()));
      await Promise.all(all.map(whole));
    },
    async stop() {
      await Promise.all(all.map((node) => node.stop()));
    },
    async holderOf(key) {
      const slot = Number(await ask(first.port, ['CLUSTER', 'KEYSLOT', key]));
      const holder = all[Math.floor((slot * all.length) / slots)];
      if (holder === undefined) throw new Error(`No node holds ${key}`);
      return holder;
    },
  };
}

async function startNode(): Promise<RedisServer & { busPort: number }> {
  const busPort = await findFreePort('127.0.0.1');
  const settings = ['--cluster-enabled', 'yes', '--cluster-port', String(busPort), '--cluster-node-timeout', '1000'];
  return { ...(await startRedis(settings)), busPort };
}

async function ask(port: number, [name = '', ...parts]: (string | number)[]): Promise<unknown> {
  const client = new Redis(port, '127.0.0.1');
  try {
    return await client.call(String(name), ...parts);
  } finally {
    client.disconnect();
  }
}

/** Resolves when a node reports that every slot is served. */
async function whole({ port }: RedisServer): Promise<void> {
  for (;;) {
    const state = String(await ask(port, ['CLUSTER', 'INFO']));
    if (/cluster_state:ok/.test(state) && /cluster_slots_ok:16384/.test(state)) return;
  }
}
