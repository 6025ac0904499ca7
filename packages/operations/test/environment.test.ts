import { StartError } from '@belay/program';
import { describe, expect, it } from 'vitest';
import { parseEnvironment } from '../src/environment.js';

function refusal(env: Record<string, string>): string {
  try {
    parseEnvironment(env);
  } catch (error) {
    expect(error).toBeInstanceOf(StartError);
    return (error as StartError).message;
  }
  throw new Error(`accepted ${JSON.stringify(env)}`);
}

describe('the environment', () => {
  it('completes the address of the database with what libpq’s variables say about TLS', () => {
    const urlFor = (DATABASE_URL: string, more: Record<string, string>) =>
      parseEnvironment({ DATABASE_URL, ...more }).databaseUrl;
    const variables = { PGSSLMODE: 'verify-full', PGSSLROOTCERT: '/ca.pem' };
    expect(urlFor('postgres://b@db/belay', variables)).toBe(
      'postgres://b@db/belay?sslmode=verify-full&sslrootcert=%2Fca.pem',
    );
    expect(urlFor('postgres://b@db/belay?sslmode=require', { PGSSLMODE: 'disable' })).toBe(
      'postgres://b@db/belay?sslmode=require',
    );
    expect(urlFor('postgres://b@db/belay', {})).toBe('postgres://b@db/belay');
  });

  it('has a default for everything', () => {
    expect(parseEnvironment({})).toEqual({
      mode: 'server',
      configuration: undefined,
      port: 8080,
      host: '127.0.0.1',
      baseUrl: undefined,
      databaseUrl: undefined,
      redisUrl: undefined,
      secret: undefined,
      previousSecrets: [],
      dataDirectory: '.belay',
      worker: 'inline',
      logLevel: 'info',
      drainSeconds: 0,
    });
  });

  it('takes a variable that is set to nothing as not set', () => {
    expect(parseEnvironment({ PORT: '', DATABASE_URL: '', BELAY_SECRET: '' })).toEqual(parseEnvironment({}));
  });

  it('reads every variable', () => {
    expect(
      parseEnvironment({
        BELAY_MODE: 'server',
        BELAY_CONFIG: 'etc/belay',
        PORT: '9000',
        HOST: '::1',
        BELAY_BASE_URL: 'https://belay.example.com/',
        DATABASE_URL: 'postgresql://a:b@db/belay',
        REDIS_URL: 'rediss://cache:6380',
        BELAY_SECRET: 'x'.repeat(32),
        BELAY_SECRET_PREVIOUS: `${'y'.repeat(32)}, ${'z'.repeat(32)},`,
        BELAY_DATA: '/var/lib/belay',
        BELAY_WORKER: 'off',
        LOG_LEVEL: 'debug',
      }),
    ).toEqual({
      mode: 'server',
      configuration: 'etc/belay',
      port: 9000,
      host: '::1',
      baseUrl: 'https://belay.example.com',
      databaseUrl: 'postgresql://a:b@db/belay',
      redisUrl: 'rediss://cache:6380',
      secret: 'x'.repeat(32),
      previousSecrets: ['y'.repeat(32), 'z'.repeat(32)],
      dataDirectory: '/var/lib/belay',
      worker: 'off',
      logLevel: 'debug',
      drainSeconds: 0,
    });
  });

  it.each([
    ['BELAY_MODE', 'agent', 'use server'],
    ['BELAY_MODE', 'client', 'use server'],
    ['BELAY_MODE', 'servre', 'use server'],
    ['PORT', 'http', 'use a number from 1 to 65535'],
    ['PORT', '65536', 'use a number from 1 to 65535'],
    ['PORT', '-1', 'use a number from 1 to 65535'],
    ['PORT', '80.5', 'use a number from 1 to 65535'],
    ['PORT', '0x50', 'use a number from 1 to 65535'],
    ['HOST', 'http://localhost', 'use a host name or an address'],
    ['HOST', 'localhost:8080', 'use a host name or an address'],
    ['BELAY_BASE_URL', 'belay.example.com', 'use the address that people open'],
    ['BELAY_BASE_URL', 'ftp://belay.example.com', 'use the address that people open'],
    ['BELAY_BASE_URL', 'https://belay.example.com/?a=b', 'use the address that people open'],
    ['DATABASE_URL', 'mysql://db', 'use postgres://user:password@host:5432/database'],
    ['DATABASE_URL', 'belay', 'use postgres://user:password@host:5432/database'],
    ['REDIS_URL', 'localhost:6379', 'use redis://host:6379'],
    ['BELAY_SECRET', 'short', 'use at least 32 characters'],
    ['BELAY_SECRET_PREVIOUS', `${'y'.repeat(32)},short`, 'use the secrets that were in BELAY_SECRET before'],
    ['BELAY_WORKER', 'on', 'use inline, off or only'],
    ['LOG_LEVEL', 'loud', 'use one of trace, debug'],
    ['BELAY_DRAIN_SECONDS', '61', 'use a number of seconds from 0 to 60'],
    ['BELAY_TRUST_PROXY', 'everybody', 'use the number of proxies in front of Belay'],
  ])('rejects %s=%s on one line that names the variable and the cure', (name, value, cure) => {
    const line = refusal({ [name]: value });
    expect(line.startsWith(`${name} `)).toBe(true);
    expect(line).toContain(cure);
    expect(line).not.toContain('\n');
  });

  it('parts secrets of before by commas, or, as a secret may have one, by line breaks', () => {
    const [one, other] = [`${'y'.repeat(20)},${'y'.repeat(20)}`, 'z'.repeat(32)];
    const read = (value: string) => parseEnvironment({ BELAY_SECRET_PREVIOUS: value }).previousSecrets;
    expect(read(`${one}\n\n ${other}\r\n`)).toEqual([one, other]);
    expect(read(`${one}\n`)).toEqual([one]);
    expect(refusal({ BELAY_SECRET_PREVIOUS: one })).toContain('BELAY_SECRET_PREVIOUS is not valid');
  });

  it('requires the address that messages link to of a process that is only a worker', () => {
    expect(refusal({ BELAY_WORKER: 'only' })).toMatch(/^BELAY_BASE_URL is required with BELAY_WORKER=only/);
    const worker = parseEnvironment({ BELAY_WORKER: 'only', BELAY_BASE_URL: 'https://belay.example.com' });
    expect(worker.worker).toBe('only');
  });

  it('never repeats a value that may hold a password', () => {
    expect(refusal({ DATABASE_URL: 'mysql://root:hunter2@db' })).not.toContain('hunter2');
    expect(refusal({ REDIS_URL: 'http://:hunter2@cache' })).not.toContain('hunter2');
    expect(refusal({ BELAY_SECRET: 'hunter2' })).not.toContain('hunter2');
    expect(refusal({ BELAY_SECRET_PREVIOUS: 'hunter2' })).not.toContain('hunter2');
  });

  it('takes proxies by number or by address, and trusts none by default', () => {
    expect(parseEnvironment({}).trustProxy).toBeUndefined();
    expect(parseEnvironment({ BELAY_TRUST_PROXY: '2' }).trustProxy).toBe(2);
    expect(parseEnvironment({ BELAY_TRUST_PROXY: '10.0.0.0/8, ::1' }).trustProxy).toBe('10.0.0.0/8, ::1');
  });

  it('reads each secret from the file that its _FILE variable names', () => {
    const files: Record<string, string> = {
      '/run/url': 'postgres://db/belay\n',
      '/run/secret': `${'x'.repeat(32)}\r\n`,
      '/run/empty': '\n',
    };
    const read = (path: string) => {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error('absent'), { code: 'ENOENT' });
      return text.replace(/\r?\n$/, '');
    };
    expect(parseEnvironment({ DATABASE_URL_FILE: '/run/url', BELAY_SECRET_FILE: '/run/secret' }, read)).toMatchObject({
      databaseUrl: 'postgres://db/belay',
      secret: 'x'.repeat(32),
    });
    expect(() => parseEnvironment({ BELAY_SECRET_FILE: '/run/none' }, read)).toThrow(
      'BELAY_SECRET_FILE cannot be read (ENOENT)',
    );
    expect(() => parseEnvironment({ BELAY_SECRET_FILE: '/run/empty' }, read)).toThrow('names an empty file');
    expect(() => parseEnvironment({ REDIS_URL: 'redis://a', REDIS_URL_FILE: '/run/url' }, read)).toThrow(
      'are both set',
    );
  });

  it('names every wrong variable at once', () => {
    const line = refusal({ PORT: 'x', LOG_LEVEL: 'loud' });
    expect(line).toContain('PORT');
    expect(line).toContain('LOG_LEVEL');
  });
});
