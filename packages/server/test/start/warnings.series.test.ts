import { expect, it } from 'vitest';
import { hasRedis } from '../../../../chaos/src/stage/redis.js';
import { loseConnections } from './lose-connections.js';

const losses = ['reset', 'close', 'half-close', 'half-open', 'swallow'] as const;
const queues: ('PostgreSQL' | 'Redis')[] = ['PostgreSQL'];
if (hasRedis()) queues.push('Redis');

it.each(queues)('prints no warning of Node.js in a series of lost connections, with the queue on %s', async (queue) => {
  expect(await loseConnections(queue, [...losses, ...losses])).toBe('');
});
