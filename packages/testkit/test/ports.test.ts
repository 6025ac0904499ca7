import { once } from 'node:events';
import { createServer } from 'node:net';
import { findTestPort } from '@belay/testkit/ports';
import { expect, it } from 'vitest';

it('gives each test a port of its own, and passes over one that a program listens on', async () => {
  const [one, two] = [await findTestPort(), await findTestPort()];
  expect(two).not.toBe(one);
  const program = createServer().listen(two, '127.0.0.1');
  await once(program, 'listening');
  try {
    const others: number[] = [];
    for (let count = 0; count < 1_000; count += 1) others.push(await findTestPort());
    expect(others).toContain(one);
    expect(others).not.toContain(two);
  } finally {
    program.close();
  }
});

it('gives ports that no server chooses by itself', async () => {
  const port = await findTestPort();
  expect(port).toBeGreaterThanOrEqual(12_000);
  expect(port).toBeLessThan(20_000);
});
