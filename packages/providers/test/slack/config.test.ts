import { describe, expect, it } from 'vitest';
import { slackConnector } from '../../src/index.js';

const base = { token: 'xoxb-1-2-abcDEF' };
const secret = '8f742231b10e8888abcd99beef85a5c0';
const parse = (config: unknown) => slackConnector.config.safeParse(config);

describe('the configuration of slack', () => {
  it.each([
    [base, []],
    [{ ...base, decisions: 'off', signing_secret: secret }, []],
    [{ ...base, decisions: 'deny_only', signing_secret: secret }, ['deny']],
    [{ ...base, decisions: 'on', signing_secret: secret, url: 'https://slack-gov.com/api' }, ['approve', 'deny']],
  ])('accepts a whole one, in which decisions by message are off unless they are set (%#)', (config, verdicts) => {
    expect(slackConnector.verdicts?.(slackConnector.config.parse(config))).toEqual(verdicts);
  });

  it.each([
    [{}, 'token', ''],
    [{ token: 'xoxp-1-2-abc' }, 'token', 'begins with xoxb-'],
    [{ token: 'xoxe.xoxb-1-abc' }, 'token', 'turn off token rotation'],
    [{ ...base, decisions: 'on' }, 'signing_secret', 'must be set unless decisions is off'],
    [{ ...base, decisions: 'deny_only' }, 'signing_secret', 'must be set'],
    [{ ...base, decisions: true }, 'decisions', ''],
    [{ ...base, signing_secret: 'xoxb-not-hex' }, 'signing_secret', '32 hexadecimal digits'],
    [{ ...base, url: 'http://slack.example' }, 'url', 'https'],
    [{ ...base, channel: '#approvals' }, '', 'channel'],
  ])('rejects a wrong one at its key (%#)', (config, path, fix) => {
    const issues = parse(config).error?.issues ?? [];
    expect(issues.map((issue) => issue.path.join('.'))).toContain(path);
    expect(issues.map(({ message }) => message).join()).toContain(fix);
    expect(JSON.stringify(issues)).not.toMatch(/abc|not-hex/);
  });
});
