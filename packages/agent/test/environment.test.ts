import { describe, expect, it } from 'vitest';
import { parseLocalEnvironment, requireServerAddress } from '../src/environment.js';

const agent = { BELAY_MODE: 'agent', HOME: '/srv/rita' };

describe('the environment of agent and client mode', () => {
  it('has a default for everything but the mode', () => {
    expect(parseLocalEnvironment(agent)).toEqual({
      mode: 'agent',
      port: 8791,
      host: '127.0.0.1',
      server: undefined,
      credential: undefined,
      name: undefined,
      dataDirectory: '/srv/rita/.local/state/belay/agent',
      syncInterval: 30_000,
      keyring: 'auto',
      logLevel: 'info',
    });
    expect(parseLocalEnvironment({ ...agent, XDG_STATE_HOME: '/state' }).dataDirectory).toBe('/state/belay/agent');
    expect(parseLocalEnvironment({ ...agent, BELAY_DATA: 'here', BELAY_SERVER: 'https://x.example/' })).toMatchObject({
      dataDirectory: 'here',
      server: 'https://x.example',
    });
  });

  it.each([
    ['HOST', '0.0.0.0', 'for this machine only'],
    ['HOST', '192.168.1.5', 'for this machine only'],
    ['HOST', '::', 'for this machine only'],
    ['PORT', '65536', 'use a number from 1 to 65535'],
    ['BELAY_SERVER', 'ftp://x.example', 'use the address of the server'],
    ['BELAY_SERVER', 'https://user@x.example', 'use the address of the server'],
    ['BELAY_SYNC_SECONDS', '0', 'use a number of seconds'],
    ['BELAY_KEYRING', 'on', 'use auto or off'],
    ['BELAY_MODE', 'server', 'use agent or client'],
  ])('rejects %s=%s on one line that names the variable and the cure', (name, value, cure) => {
    expect(() => parseLocalEnvironment({ ...agent, [name]: value })).toThrow(new RegExp(`^${name} is .*${cure}`));
  });

  it('never repeats a credential', () => {
    expect(() => parseLocalEnvironment({ ...agent, BELAY_AGENT_CREDENTIAL: 'hunter2' })).toThrow(/^(?!.*hunter2)/);
  });
});

describe('the address of a server', () => {
  it('is one that paths can follow, of one host and without a password', () => {
    expect(requireServerAddress('https://belay.example/team/')).toBe('https://belay.example/team');
    const refused = [
      'https://belay.example@evil.example',
      'https://u:p@x.example',
      'https://x.example/?a=',
      'https://x.example/#',
    ];
    for (const address of refused) expect(() => requireServerAddress(address)).toThrow(/^BELAY_SERVER is .*use https/);
    expect(() => requireServerAddress('https://rita:hunter2@x.example')).toThrow(/^(?!.*hunter2)/);
  });
});
