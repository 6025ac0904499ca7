import { readFile, stat } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTerminal, type Terminal } from './support/run.js';
import { logged, type Service, startService } from './support/service.js';

let service: Service;
let terminal: Terminal;

beforeEach(async () => {
  service = await startService();
  terminal = await openTerminal();
});
afterEach(async () => {
  await terminal[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

/** A browser: follows redirects to the end, which is the command's own callback. */
function browse(visited: URL[] = []) {
  return (address: string) => {
    visited.push(new URL(address));
    void fetch(address).then((response) => response.text());
  };
}

describe('login', () => {
  it('signs in through the browser with a PKCE challenge, and keeps the token for that server alone', async () => {
    const visited: URL[] = [];
    const { code, stdout, stderr } = await terminal.run(['login', '--server', `${service.url}/`], {
      openBrowser: browse(visited),
    });
    expect(stderr).toContain(`Sign in at: ${service.url}/api/v1/auth/request/demo?callback=http%3A%2F%2F127.0.0.1%3A`);
    expect(code).toBe(0);
    expect(stdout).toContain('ada@example.com');
    expect(stdout + stderr).not.toContain(service.token);
    const query = visited[0]?.searchParams;
    expect(query?.get('code_challenge')).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(query?.get('code_challenge_method')).toBe('S256');
    expect((await stat(terminal.credentialsFile)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(await readFile(terminal.credentialsFile, 'utf8'))).toMatchObject({
      default: service.url,
      servers: { [service.url]: { token: service.token, email: 'ada@example.com' } },
    });
    expect(await terminal.run(['whoami'])).toMatchObject({ code: 0, stdout: expect.stringContaining(service.url) });
    await using other = await startService();
    expect(await terminal.run(['whoami', '--server', other.url])).toMatchObject({ code: 3 });
  });

  it('prompts for a provider when there are several, and requires --provider without a terminal', async () => {
    service.state.authenticators = ['demo', 'partner'];
    expect(await terminal.run(['login'], { server: service.url })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('demo, partner'),
    });
    const visited: URL[] = [];
    const prompts = { select: async () => 'partner' } as never;
    const shell = { server: service.url, interactive: true, prompts, openBrowser: browse(visited) };
    expect(await terminal.run(['login'], shell)).toMatchObject({ code: 0 });
    expect(visited[0]?.pathname).toBe('/api/v1/auth/request/partner');
    expect(await terminal.run(['login', '--provider', 'nobody'], shell)).toMatchObject({ code: 5 });
  });

  it('is not ended by a visit to another path, nor by a login that was rejected', async () => {
    const openBrowser = (address: string) => {
      const callback = new URL(new URL(address).searchParams.get('callback') ?? '');
      void fetch(new URL('/callback/guess?code=evil', callback))
        .then((elsewhere) => expect(elsewhere.status).toBe(404))
        .then(() => fetch(`${callback}?error=access_denied`));
    };
    expect(await terminal.run(['login'], { server: service.url, openBrowser })).toMatchObject({ code: 4 });
  });

  it('survives requests with invalid addresses, which any web page can send', async () => {
    const openBrowser = (address: string) => {
      const callback = new URL(new URL(address).searchParams.get('callback') ?? '');
      void fetch(`${callback.origin}//`)
        .then((elsewhere) => expect(elsewhere.status).toBe(404))
        .then(() => fetch(address));
    };
    expect(await terminal.run(['login'], { server: service.url, openBrowser })).toMatchObject({ code: 0 });
  });

  it('escapes control characters of the server in every command', async () => {
    const hostile = 'ada\u001b]0;x\u0007\u001b[2J\u001b[8m\nbelay: all is well\u202e\u009b31m';
    const unsafe = (text: string) =>
      [...text.replaceAll('\t', '')].filter((each) => each !== '\n' && /[\p{Cc}\u202e]/u.test(each)).join('') ||
      /\nbelay: all/.exec(text)?.[0];
    service.state.user = { email: hostile };
    service.state.message = hostile;
    service.state.logs = [{ ...logged, timestamp: hostile, type: hostile, level: hostile as 'info' }];
    const shell = { server: service.url, openBrowser: browse() };
    const commands = [
      ['login'],
      ['access', 'return', 'e-1'],
      ['executions', 'cancel', 'e-1'],
      ['executions', 'terminate', 'e-1'],
    ];
    for (const args of [...commands, ['executions', 'watch', 'e-1'], ['logs'], ['whoami']]) {
      const { code, stdout, stderr } = await terminal.run(args, shell);
      expect([args, code, unsafe(stdout + stderr)]).toEqual([args, 0, undefined]);
    }
    service.state.failWith = 'CONFLICT';
    const { stderr } = await terminal.run(['inbox', '--json'], shell);
    expect(JSON.parse(stderr)).toMatchObject({ error: { message: hostile } });
    expect(unsafe(stderr)).toBe(undefined);
  });

  it('with the code of another login gets no token', async () => {
    service.codes.set('stolen', 'another-challenge');
    const openBrowser = (address: string) => void fetch(`${new URL(address).searchParams.get('callback')}?code=stolen`);
    expect(await terminal.run(['login'], { server: service.url, openBrowser })).toMatchObject({ code: 2 });
    await expect(stat(terminal.credentialsFile)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('exits with 130 on Ctrl-C before the sign-in is completed', async () => {
    const abort = new AbortController();
    const openBrowser = () => abort.abort();
    expect(await terminal.run(['login'], { server: service.url, openBrowser, signal: abort.signal })).toMatchObject({
      code: 130,
    });
  });
});

describe('login on a machine without a browser', () => {
  /** A world in which waiting takes no time and its clock knows it. */
  function patient(waits: number[]) {
    let now = Date.parse('2029-12-31T12:00:00.000Z');
    return {
      server: service.url,
      clock: () => new Date(now),
      delay: async (milliseconds: number) => {
        waits.push(milliseconds);
        now += milliseconds;
      },
    };
  }

  it('shows a short code, asks as often as it may, and keeps the token', async () => {
    const waits: number[] = [];
    const { code, stdout, stderr } = await terminal.run(['login', '--device'], patient(waits));
    expect(code).toBe(0);
    expect(stderr).toContain('BCDF-GHJK');
    expect(stderr).toContain('https://belay.example.com/auth/device');
    expect(waits).toEqual([5_000, 5_000, 10_000]);
    expect(stdout + stderr).not.toMatch(/secret-device-code|token-of-ada/);
    expect(await terminal.run(['whoami'])).toMatchObject({ code: 0 });
  });

  it('exits with 4 when rejected and with 130 when not confirmed in time, and stores nothing', async () => {
    service.state.device = ['pending', 'denied'];
    expect(await terminal.run(['login', '--device'], patient([]))).toMatchObject({ code: 4 });
    service.state.device = ['pending'];
    const waits: number[] = [];
    expect(await terminal.run(['login', '--device'], patient(waits))).toMatchObject({
      code: 130,
      stderr: expect.stringContaining('in time'),
    });
    expect(waits).toHaveLength(12);
    await expect(stat(terminal.credentialsFile)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('ends with 130 by Ctrl-C, and has no provider to choose', async () => {
    const shell = patient([]);
    const interrupt = new AbortController();
    const running = terminal.run(['login', '--device'], {
      ...shell,
      signal: interrupt.signal,
      delay: async (_milliseconds: number, signal: AbortSignal) => {
        interrupt.abort();
        signal.throwIfAborted();
      },
    });
    expect(await running).toMatchObject({ code: 130 });
    expect(await terminal.run(['login', '--device', '--provider', 'demo'], shell)).toMatchObject({ code: 2 });
  });
});

describe('logout', () => {
  it('ends the login at the server and forgets the token, also when it had ended already', async () => {
    await terminal.run(['login'], { server: service.url, openBrowser: browse() });
    expect(await terminal.run(['logout'])).toMatchObject({ code: 0, stdout: `signed out of ${service.url}\n` });
    expect(service.changes).toMatchObject([{ path: 'auth.logout' }]);
    expect(await terminal.run(['whoami'], { server: service.url })).toMatchObject({ code: 3 });
    expect(await terminal.run(['logout'], { server: service.url, token: 'long-expired' })).toMatchObject({ code: 0 });
  });
});
