import { answer, loseAnswer, throttle } from '@belay/targets';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Retryable, Terminal } from '../../src/index.js';
import { everythingIn, faultOf } from '../support/tools.js';
import { message, openWorkspace, shown } from './workspace.js';

const never = () => new AbortController().signal;
const said = (error: string) => answer({ status: 200, body: { ok: false, error } });

describe('a message at Slack', () => {
  const clock = { now: Date.now() };
  let slack: Awaited<ReturnType<typeof openWorkspace>>;
  beforeAll(async () => {
    slack = await openWorkspace({
      now: () => clock.now,
      tokens: {
        bare: ['chat:write', 'im:write', 'users:read', 'users:read.email'],
        less: ['chat:write', 'users:read'],
      },
    });
  });
  afterAll(() => slack?.[Symbol.asyncDispose]());
  let made = 0;
  const fresh = (changes: Partial<typeof message> = {}) => {
    made += 1;
    return { ...message, idempotencyKey: `key ${made}`, ...changes };
  };
  /** Opens a connector behind a front. */
  const behind = async (config: object = {}) => {
    const front = await slack.front();
    const { notifications } = await slack.client({ url: `${front.url}/api`, ...config });
    return { front, notifications };
  };

  it('reaches a member by e-mail address, with facts, a link and the buttons', async () => {
    const { notifications } = await slack.client();
    const receipt = await notifications.deliver(fresh(), never());
    const [posted] = await slack.inbox();
    expect(receipt).toEqual({ channel: await slack.direct(slack.user('grace@example.com')), ts: posted?.ts });
    expect(posted?.blocks?.map(({ type }) => type)).toEqual(['header', 'section', 'section', 'section', 'actions']);
    expect(posted?.blocks?.[2]?.fields?.map(({ text }) => text)).toEqual([
      'Role',
      'reader',
      'Reason',
      'look at orders',
    ]);
    expect(posted?.blocks?.[3]?.text).toMatchObject({
      text: '<https://belay.example.com/api/v1/approvals?id=1&amp;x=2|View request>',
      verbatim: true,
    });
    expect(posted?.blocks?.[4]?.elements).toMatchObject([
      { action_id: 'belay:approve', value: 'a-sealed-token', text: { text: 'Approve' } },
      { action_id: 'belay:deny', value: 'another-sealed-token', text: { text: 'Deny request' } },
    ]);
    expect(posted).toMatchObject({ unfurl_links: false, unfurl_media: false, link_names: false, parse: 'none' });
  });

  it('reaches a channel and a user by their identifiers', async () => {
    const { notifications } = await slack.client();
    const channel = slack.channel('approvals');
    const inChannel = await notifications.deliver(fresh({ to: channel }), never());
    expect((await slack.messages(channel))[0]?.ts).toBe(inChannel.ts);
    const direct = await notifications.deliver(fresh({ to: slack.user('ada@example.com') }), never());
    expect((await slack.inbox('ada@example.com'))[0]?.ts).toBe(direct.ts);
  });

  it('says after the decision what it was, and has no buttons any more', async () => {
    const { notifications } = await slack.client();
    const receipt = await notifications.deliver(fresh(), never());
    const outcome = { ...message, title: 'Approved: reader for Ada', actions: message.actions.slice(0, 1) };
    await notifications.revise?.(receipt, outcome, never());
    await notifications.revise?.(receipt, outcome, never());
    const [posted] = await slack.inbox();
    expect(posted?.ts).toBe(receipt.ts);
    expect(posted && shown(posted)).toContain('Approved: reader for Ada');
    expect(posted?.text).toContain('Approved');
    expect(posted?.blocks?.some(({ type }) => type === 'actions')).toBe(false);
  });

  it('is left alone when a person has deleted it', async () => {
    const { notifications } = await slack.client();
    const receipt = await notifications.deliver(fresh(), never());
    await slack.call('chat.delete', { channel: String(receipt.channel), ts: String(receipt.ts) });
    await expect(notifications.revise?.(receipt, message, never())).resolves.toBeUndefined();
  });

  it.each([
    '<!channel> <!here|here> <@U012AB3CD> <#C0LAN2Q65> <https://evil.example|View request>',
    '&lt;!channel&gt; & more',
    '*Outcome:* Approved\n> quoted ~no~ `code`',
    '\u202edesrever\u0000\u0007\u2066',
    '',
    '   \n',
    '😀'.repeat(4_000),
    '&'.repeat(9_000),
    `${'x'.repeat(2_998)}<!channel>`,
  ])('shows the words of people as they are, however they are written (%#)', async (words) => {
    const { notifications } = await slack.client();
    const facts = Array.from({ length: 12 }, (_, index) => ({ name: `Fact ${index}${words}`, value: words }));
    await notifications.deliver(fresh({ title: words, text: words, facts }), never());
    const [posted] = await slack.inbox();
    const texts = posted?.blocks?.flatMap(({ text, fields = [] }) => (text ? [text, ...fields] : fields)) ?? [];
    // The link is ours; every other text is plain.
    const foreign = texts.filter(({ type }) => type === 'plain_text').map(({ text }) => text);
    expect(texts.filter(({ type }) => type === 'mrkdwn')).toHaveLength(1);
    for (const text of [...foreign, posted?.text ?? '']) {
      expect(text).not.toMatch(/[<>]|&(?!amp;|lt;|gt;)/);
      expect(text).not.toMatch(/[\u202a-\u202e\u2066-\u2069]|(?!\n)\p{Cc}/u);
      expect(text.isWellFormed()).toBe(true);
    }
  });

  it('is found again when its delivery was not confirmed', async () => {
    const { front, notifications } = await behind();
    for (const to of [message.to, slack.channel('approvals')]) {
      const one = fresh({ to });
      front.on({ path: /postMessage/, times: 1 }, loseAnswer);
      expect(await faultOf(notifications.deliver(one, never()))).toBeInstanceOf(Retryable);
      const receipt = await notifications.find?.(one, never());
      const [posted] = to === message.to ? await slack.inbox() : await slack.messages(to);
      expect(receipt?.ts).toBe(posted?.ts);
      expect(await notifications.find?.(fresh({ to }), never())).toBeNull();
    }
  });

  it('is not found by the mark of another app, and not without the scope to look', async () => {
    const { front, notifications } = await behind();
    const one = fresh();
    await notifications.deliver(one, never());
    front.on(
      { path: /auth\.test/ },
      answer({ status: 200, body: { ok: true, team_id: slack.team, user_id: 'UOTHER' } }),
    );
    expect(await notifications.find?.(one, never())).toBeNull();
    const bare = await slack.client({ token: slack.app.tokens.bare });
    expect(await bare.notifications.find?.(one, never())).toBeNull();
  });

  it.each([
    ['is_archived', Terminal, 'is_archived'],
    ['channel_not_found', Terminal, 'channel_not_found'],
    ['not_in_channel', Terminal, 'not_in_channel'],
    ['msg_too_long', Terminal, 'msg_too_long'],
    ['invalid_blocks', Terminal, 'invalid_blocks'],
    ['a word <with> secrets', Terminal, 'unknown_error'],
    ['ratelimited', Retryable, 'too many requests'],
    ['internal_error', Retryable, 'is temporarily unavailable'],
    ['invalid_auth', Retryable, 'does not accept'],
    ['account_inactive', Retryable, 'does not accept'],
    ['missing_scope', Retryable, 'lacks a scope'],
  ])('comes to the right error when Slack answers 200 and "%s"', async (error, kind, words) => {
    const { front, notifications } = await behind();
    front.on({ path: /postMessage/ }, said(error));
    const fault = await faultOf(notifications.deliver(fresh(), never()));
    expect(fault).toBeInstanceOf(kind);
    expect(fault.message).toContain(words);
    expect(everythingIn(fault)).not.toContain('xoxb-');
  });

  it.each([
    [throttle(7)],
    [answer({ status: 200, headers: { 'retry-after': '7' }, body: { ok: false, error: 'ratelimited' } })],
  ])('waits for as long as Slack demands, without another call (%#)', async (act) => {
    const { front, notifications } = await behind();
    const to = slack.channel('approvals');
    front.on({ path: /postMessage/, times: 1 }, act);
    const demanded = (await faultOf(notifications.deliver(fresh({ to }), never()))) as Retryable;
    expect(demanded.options.afterMilliseconds ?? 7_000).toBe(7_000);
    expect(await faultOf(notifications.deliver(fresh({ to }), never()))).toBeInstanceOf(Retryable);
    expect(front.journal).toHaveLength(1);
    clock.now += 7_001;
    await notifications.deliver(fresh({ to }), never());
  });

  it.each([
    ['#approvals'],
    ['grace'],
    ['C1'],
    ['grace@example.com, ada@example.com'],
    ['nobody@example.com'],
    ['<!channel>'],
  ])('goes to no recipient that is not one member or channel: %s', async (to) => {
    const { notifications } = await slack.client();
    expect(await faultOf(notifications.deliver(fresh({ to }), never()))).toBeInstanceOf(Terminal);
  });

  it('goes to no deactivated account and no bot', async () => {
    const { notifications } = await slack.client();
    const user = slack.user('ada@example.com');
    for (const fields of [{ deleted: true }, { is_bot: true }]) {
      slack.world.describe(user, fields);
      expect(await faultOf(notifications.deliver(fresh({ to: 'ada@example.com' }), never()))).toBeInstanceOf(Terminal);
      slack.world.describe(user, { deleted: false, is_bot: false });
    }
  });

  it('stops when the signal says so', async () => {
    const { notifications } = await slack.client();
    const stopped = AbortSignal.abort();
    expect(await faultOf(notifications.deliver(fresh(), stopped))).toBeInstanceOf(Retryable);
  });

  describe('the check', () => {
    it('accepts an app with the scopes, and says what it gains by those to look', async () => {
      const bare = await slack.client({ token: slack.app.tokens.bare });
      await bare.check(never());
      expect((await bare.weaknesses?.(never()))?.map((one) => one.message).join()).toContain(
        'channels:history, groups',
      );
      const full = await slack.client();
      expect(await full.weaknesses?.(never())).toEqual([]);
    });

    it('names each scope that is missing', async () => {
      const less = await slack.client({ token: slack.app.tokens.less });
      const fault = await faultOf(less.check(never()));
      expect(fault).toBeInstanceOf(Terminal);
      expect(fault.message).toBe('The Slack app lacks the scope im:write, users:read.email');
    });

    it('rejects a wrong token, and an app of a whole organization, without a secret in the message', async () => {
      const wrong = await slack.client({ token: 'xoxb-wrong' });
      const fault = await faultOf(wrong.check(never()));
      expect(fault).toBeInstanceOf(Terminal);
      expect(fault.message).toContain('does not accept');
      expect(everythingIn(fault)).not.toContain('xoxb-wrong');
      const { front, notifications: _ } = await behind();
      const body = { ok: true, team_id: 'E1', user_id: 'U1', is_enterprise_install: true };
      front.on({ path: /auth\.test/ }, answer({ status: 200, body }));
      const whole = await slack.client({ url: `${front.url}/api` });
      expect((await faultOf(whole.check(never()))).message).toContain('in one workspace');
    });
  });
});
