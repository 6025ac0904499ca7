import { describe, expect, it } from 'vitest';
import { awsConnector } from '../../src/index.js';

const base = { region: 'eu-central-1', instance: 'arn:aws:sso:::instance/ssoins-1234567890abcdef' };
const keys = { access_key_id: 'AKIA', secret_access_key: 'x' };
const parse = (config: unknown) => awsConnector.config.safeParse(config);

describe('the configuration of aws', () => {
  it.each([
    [base],
    [{ ...base, ...keys, session_token: 'x' }],
    [{ ...base, instance: 'arn:aws-us-gov:sso:::instance/ssoins-1234567890abcdef' }],
    [{ ...base, max_session_duration: 'PT1H30M', identity: 'username', allow_management_account: true }],
    [{ ...base, exclusive: ['permission-set/Admin', 'group/On call'] }],
  ])('accepts %j', (config) => expect(parse(config).success).toBe(true));

  it.each([
    [{ ...base, region: 'Frankfurt' }, 'region', 'is not a region'],
    [{ region: base.region }, 'instance', 'expected string'],
    [{ ...base, instance: 'ssoins-1234567890abcdef' }, 'instance', 'must be the ARN of an instance'],
    [{ ...base, access_key_id: 'AKIA' }, 'secret_access_key', 'set all of access_key_id, secret_access_key, or none'],
    [{ ...base, endpoint: 'http://sso.example.com' }, 'endpoint', 'must be https'],
    [{ ...base, max_session_duration: 'PT30M' }, 'max_session_duration', 'from PT1H to PT12H'],
    [{ ...base, max_session_duration: 'PT13H' }, 'max_session_duration', 'from PT1H to PT12H'],
    [{ ...base, max_session_duration: '1h' }, 'max_session_duration', 'from PT1H to PT12H'],
    [{ ...base, exclusive: ['Admin'] }, 'exclusive.0', 'must be permission-set/<name> or group/<name>'],
    [{ ...base, identity: 'name' }, 'identity', 'email'],
    [{ ...base, more: 1 }, '', 'more'],
  ])('rejects %j at %s', (config, path, message) => {
    const issues = parse(config).error?.issues ?? [];
    expect(issues.map((issue) => issue.path.join('.'))).toContain(path);
    expect(issues.map((issue) => issue.message).join(' ')).toContain(message);
  });

  it('has an address without credentials', () => {
    const config = awsConnector.config.parse({ ...base, ...keys });
    expect(JSON.stringify(awsConnector.address?.(config))).not.toContain('AKIA');
  });

  it('plans every permission set in every account, and every group, once', () => {
    const config = awsConnector.config.parse(base);
    const request = { permissions: { allow: [], deny: [] }, resources: { allow: ['account/111122223333'], deny: [] } };
    expect(
      awsConnector.plan?.(config, { ...request, roles: ['permission-set/A', 'permission-set/A', 'permission-set/B'] }),
    ).toEqual({
      ok: true,
      accesses: [
        { permission_set: 'A', account: '111122223333' },
        { permission_set: 'B', account: '111122223333' },
      ],
    });
    const groups = { ...request, resources: { allow: [], deny: [] }, roles: ['group/On call'] };
    expect(awsConnector.plan?.(config, groups)).toEqual({ ok: true, accesses: [{ group: 'On call' }] });
    expect(awsConnector.plan?.(config, { ...request, roles: ['group/On call', 'permission-set/A'] })).toEqual({
      ok: false,
      issues: [
        {
          path: 'resources.allow',
          message: 'does not limit a group: put groups and permission sets into separate roles',
        },
      ],
    });
  });
});
