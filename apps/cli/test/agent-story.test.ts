import path from 'node:path';
import { findTestPort } from '@belay/testkit/ports';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { signInThroughDemo } from './support/browser.js';
import { type Installation, type Running, startInstallation } from './support/installation.js';

let installation: Installation;
let laptop: Record<string, string>;
let agent: Running | undefined;
let address: string;
let credential: string;

beforeAll(async () => {
  installation = await startInstallation();
  laptop = { HOME: path.join(installation.folder, 'laptop'), BELAY_DATA: '', BELAY_URL: '', BELAY_KEYRING: 'off' };
});
afterAll(async () => {
  agent?.child.kill('SIGTERM');
  await agent?.ended;
  await installation?.[Symbol.asyncDispose]();
});

/** Tries again for a while: on a busy machine, an agent may respond so late that the program does not find it. */
const patiently = <T>(ask: () => Promise<T>): Promise<T> => vi.waitFor(ask, { timeout: 90_000, interval: 250 });

describe('an agent by the command line, beside a real server', () => {
  it('reports in one line why an agent cannot be enrolled or started, and exits with the code of that reason', async () => {
    const nowhere = `http://127.0.0.1:${await findTestPort()}`;
    const wellFormed = `belay-agent.${'x'.repeat(43)}`;
    const join = (url: string, home: string) =>
      installation.program(
        ['agent', 'join', '--url', url, '--json'],
        { ...laptop, HOME: path.join(installation.folder, home) },
        wellFormed,
      );
    const away = await join(nowhere, 'away');
    expect({ ...away, stderr: JSON.parse(away.stderr) }).toMatchObject({
      code: 7,
      stderr: { error: { code: 'unavailable', message: expect.stringMatching(/^This agent could not be enrolled: /) } },
    });
    const unknown = await join(installation.url, 'unknown');
    expect({ ...unknown, stderr: JSON.parse(unknown.stderr) }).toMatchObject({
      code: 1,
      stderr: { error: { code: 'failed', message: expect.stringMatching(/^This agent could not be enrolled: /) } },
    });
    const started = await installation.program(['agent', 'run'], { ...laptop, PORT: 'nonsense' });
    expect(started).toMatchObject({ code: 1, stderr: expect.stringMatching(/^belay: PORT is "nonsense": .+\n$/) });
  });

  it('is enrolled with a credential from standard input that is never printed', async () => {
    const made = await installation.program(['agent', 'enroll', '--name', 'laptop', '--ttl', 'PT1H']);
    credential = made.stdout.trim();
    const before = await installation.program(['agent', 'status'], laptop);
    expect(before).toMatchObject({ code: 7, stdout: expect.stringContaining('enrolled\tno') });
    const wrong = await installation.program(['agent', 'join', '--url', installation.url], laptop, 'belay-agent.wrong');
    expect(wrong.code).not.toBe(0);
    expect(wrong.stdout + wrong.stderr).not.toContain('belay-agent.wrong');
    const joined = await installation.program(['agent', 'join', '--url', installation.url], laptop, `${credential}\n`);
    expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining(installation.url) });
    expect(joined.stdout + joined.stderr).not.toContain(credential);
    const again = await installation.program(
      ['agent', 'join', '--url', installation.url, '--json'],
      {
        ...laptop,
        HOME: path.join(installation.folder, 'other'),
      },
      credential,
    );
    expect(again.code).not.toBe(0);
  });

  it('runs and reports its status', async () => {
    agent = installation.start(['agent', 'run'], { ...laptop, PORT: '0' });
    address = await agent.says(/(http:\/\/127\.0\.0\.1:\d+)/);
    const status = await patiently(async () => {
      const { code, stdout } = await installation.program(['agent', 'status', '--json'], laptop);
      expect(code).toBe(0);
      return stdout;
    });
    expect(JSON.parse(status)).toMatchObject({
      running: true,
      url: address,
      pid: agent.child.pid,
      enrolled: true,
      server: installation.url,
      answer: { status: 'healthy', configuration: { version: expect.stringMatching(/^1\.0\.\d+$/) }, sessions: {} },
    });
    expect(status).not.toContain('belay-agent.');
  });

  it('is found automatically, and doctor checks it', async () => {
    const found = { ...laptop, BELAY_AGENT: address };
    await patiently(async () => {
      const sessions = await installation.program(['sessions', '--json'], found);
      // No person has signed in through the agent; the response comes from the agent.
      expect([0, 3]).toContain(sessions.code);
      expect(sessions.stdout + sessions.stderr).not.toMatch(/:8080\b/);
    });
    await patiently(async () => {
      const { stdout } = await installation.program(['doctor', '--json'], found);
      const { checks } = JSON.parse(stdout) as { checks: { check: string; status: string; message: string }[] };
      expect(checks.filter(({ check }) => check === 'agent')).toMatchObject([
        { status: 'ok', message: expect.stringContaining(address) },
      ]);
      // Without a stored login, the server is the one that the agent belongs to.
      expect(checks.find(({ check }) => check === 'server')?.message).toContain(`${installation.url} (from agent)`);
    });
  });

  it('is signed in through the server, keeps the session and uses it from then on', async () => {
    const found = { ...laptop, BELAY_AGENT: address };
    const { signing, page } = await patiently(async () => {
      const started = installation.start(['login', '--agent', '--provider', 'demo', '--no-browser'], found);
      return { signing: started, page: await started.says(/Sign in at: (\S+)/) };
    });
    expect(page.startsWith(address)).toBe(true);
    await signInThroughDemo(page, 'rita@example.com');
    expect(await signing.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('a session with demo') });
    await patiently(async () => {
      const sessions = await installation.program(['sessions', '--json'], found);
      expect(JSON.parse(sessions.stdout)).toEqual({
        server: address,
        sessions: { demo: { version: expect.any(Number), expiry: expect.any(String) } },
      });
    });
    await patiently(async () =>
      expect(await installation.program(['roles'], found)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('reporting-readonly'),
      }),
    );
    await patiently(async () =>
      expect(await installation.program(['providers'], found)).toMatchObject({
        stdout: expect.stringContaining('demo-postgres'),
      }),
    );
  });

  it('stops on a signal and is no longer found', async () => {
    agent?.child.kill('SIGTERM');
    expect(await agent?.ended).toMatchObject({ code: 0 });
    expect(await installation.program(['agent', 'status'], laptop)).toMatchObject({ code: 7 });
  });
});
