import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createToken, verifyLogin } from '@belay/core';
import { expect, it } from 'vitest';
import { parseEnvironment } from '../src/env.js';
import { createLogger } from '../src/logger.js';
import { openOperatorContext } from '../src/operator.js';

it('an operator’s command works with no server running, and with another process on the same database', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'belay-operator-'));
  const environment = parseEnvironment({ BELAY_DATA: folder });
  const log = createLogger({ level: 'silent', readable: false, write: () => {} });
  try {
    const first = await openOperatorContext({ environment, name: 'root', log });
    const second = await openOperatorContext({ environment, name: 'root', log });
    const made = await createToken(second.context, { user: 'robot@example.com', ttl: 'PT1H', groups: ['engineers'] });
    await second.close();
    const login = await verifyLogin(first.context, { token: made.token });
    expect(login?.actor).toMatchObject({ email: 'robot@example.com', groups: ['engineers'] });
    await first.close();
    expect(existsSync(join(folder, 'postgres', 'postmaster.pid'))).toBe(false);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 30_000);
