import { describe, expect, it } from 'vitest';
import { mysqlConnector } from '../../src/index.js';

const base = { url: 'mysql://belay:secret@db.example.com:3306/belay', email_domains: ['example.com'] };
const pem = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----';

describe('the configuration of mysql', () => {
  it.each([
    [base],
    [{ ...base, url: 'mariadb://belay:s%3Acret@127.0.0.1/belay', ca: pem }],
    [{ url: base.url, username_template: '{email}', users: { 'rita@example.com': 'rita@10.0.0.%' } }],
    [{ ...base, exclusive: ['app_read'], max_connections: 4, allow_insecure_connection: true }],
  ])('accepts %j', (config) => expect(mysqlConnector.config.safeParse(config).error).toBeUndefined());

  it.each([
    [{}, 'url'],
    [{ ...base, url: 'postgres://belay:secret@db.example.com/belay' }, 'url'],
    [{ ...base, url: 'mysql://db.example.com/belay' }, 'url'],
    [{ ...base, url: 'mysql://belay:secret@db.example.com' }, 'url'],
    [{ ...base, url: 'mysql://belay:secret@db.example.com/belay?ssl=false' }, 'url'],
    [{ ...base, url: 'mysql://belay:secret@db.example.com/a%60b' }, 'url'],
    [{ ...base, ca: 'x' }, 'ca'],
    [{ url: base.url }, 'email_domains'],
    [{ ...base, username_template: 'people' }, 'username_template'],
    [{ ...base, users: { 'rita@example.com': '' } }, 'users.rita@example.com'],
    [{ ...base, exclusive: [''] }, 'exclusive.0'],
    [{ ...base, max_connections: 5 }, 'max_connections'],
    [{ ...base, more: 1 }, ''],
  ])('rejects %j at %s, and does not repeat the secret', (config, path) => {
    const { error } = mysqlConnector.config.safeParse(config);
    expect(error?.issues.map((issue) => issue.path.join('.'))).toContain(path);
    expect(JSON.stringify(error?.issues)).not.toContain('secret@');
  });

  it('says what a URL looks like, and how to mend a missing domain', () => {
    const messages = (config: object) =>
      mysqlConnector.config
        .safeParse(config)
        .error?.issues.map(({ message }) => message)
        .join();
    expect(messages({ ...base, url: 'x' })).toContain('mysql://<user>:<password>@<host>:<port>/<schema>');
    expect(messages({ url: base.url })).toContain('for example [example.com]');
  });

  it('has the server for its address, without user, password and schema', () => {
    const config = mysqlConnector.config.parse(base);
    expect(mysqlConnector.address?.(config)).toBe('db.example.com:3306');
  });
});
