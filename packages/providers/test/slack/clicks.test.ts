import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type HookDecision, Retryable, Terminal } from '../../src/index.js';
import type { SlackApi } from '../../src/slack/api.js';
import { receiveWith } from '../../src/slack/receive.js';
import { faultOf } from '../support/tools.js';
import { message, openWorkspace } from './workspace.js';

const never = () => new AbortController().signal;
const minute = 60_000;

describe('the signature of a request', () => {
  // The example of Slack's documentation, "Verifying requests from Slack".
  const secret = '8f742231b10e8888abcd99yyyzzz85a5';
  const at = new Date(1_531_420_618_000);
  const body = [
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar',
    'user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=',
    'response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN',
    'trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
  ].join('&');
  const signature = 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503';
  const headers = { 'x-slack-request-timestamp': '1531420618', 'x-slack-signature': signature };
  const receive = (changes: Record<string, string> = {}, text = body, now = at) =>
    receiveWith(secret, {} as SlackApi)({ headers: { ...headers, ...changes }, body: Buffer.from(text) }, now);

  it('is that of the documented example, and such a request decides nothing', async () => {
    expect(await receive()).toEqual({});
    expect(await receive({}, body, new Date(at.getTime() + 5 * minute))).toEqual({});
  });

  it.each([
    [{ 'x-slack-signature': signature.replace('v0=', 'v1=') }, body, at],
    [{ 'x-slack-signature': signature.replace('a2', 'a3') }, body, at],
    [{ 'x-slack-signature': signature.slice(0, -1) }, body, at],
    [{ 'x-slack-signature': '' }, body, at],
    [{ 'x-slack-signature': 'é'.repeat(67) }, body, at],
    [{ 'x-slack-request-timestamp': '1531420619' }, body, at],
    [{ 'x-slack-request-timestamp': '' }, body, at],
    [{}, `${body} `, at],
    [{}, body, new Date(at.getTime() + 5 * minute + 1)],
    [{}, body, new Date(at.getTime() - 5 * minute - 1)],
  ])('rejects another signature, time, body or age (%#)', async (changes, text, now) => {
    expect(await faultOf(receive(changes, text, now))).toBeInstanceOf(Terminal);
  });
});

describe('a click at Slack', () => {
  let slack: Awaited<ReturnType<typeof openWorkspace>>;
  beforeAll(async () => {
    slack = await openWorkspace();
  });
  afterAll(() => slack?.[Symbol.asyncDispose]());

  /** Posts a message to the channel, and returns what the connector reads in a click on its button. */
  async function click(
    change: (payload: Record<string, unknown>) => Record<string, unknown> = (same) => same,
  ): Promise<{ decision: HookDecision | undefined; ts: string; channel: string }> {
    const { notifications } = await slack.client();
    const channel = slack.channel('approvals');
    const { ts } = await notifications.deliver({ ...message, to: channel }, never());
    const posted = (await slack.messages(channel)).find((one) => one.ts === ts);
    if (!posted) throw new Error('not posted');
    const user = slack.user('grace@example.com');
    const { headers, body } = slack.click({ user, channel, message: posted, action: 'belay:approve', change });
    const received = await notifications.receive?.({ headers, body: Buffer.from(body) }, new Date());
    return { decision: received?.decision, ts: posted.ts, channel };
  }
  const actorOf = async (change?: (payload: Record<string, unknown>) => Record<string, unknown>) =>
    (await click(change)).decision?.actor(never());
  /** Returns the actor of a click by a user for whom Slack returns these fields. */
  const as = async (fields: Record<string, unknown>) => {
    const user = slack.user('grace@example.com');
    const usual = {
      deleted: false,
      is_bot: false,
      is_restricted: false,
      is_ultra_restricted: false,
      is_stranger: false,
    };
    const known = { is_invited_user: false, is_email_confirmed: true, team_id: slack.team, enterprise_user: undefined };
    slack.world.describe(user, { ...usual, ...known, ...fields });
    const actor = await actorOf();
    slack.world.describe(user, { ...usual, ...known });
    return actor;
  };

  it('names the token, the message and the member, whom Slack itself vouches for', async () => {
    const { decision, ts, channel } = await click();
    expect(decision).toMatchObject({ token: 'a-sealed-token', receipt: { channel, ts } });
    expect(await decision?.actor(never())).toEqual({
      subject: slack.user('grace@example.com'),
      email: 'grace@example.com',
    });
  });

  it('takes no e-mail address from the click', async () => {
    const actor = await actorOf((payload) => ({
      ...payload,
      user: { id: slack.user('grace@example.com'), email: 'root@example.com', profile: { email: 'root@example.com' } },
    }));
    expect(actor?.email).toBe('grace@example.com');
  });

  it.each([
    ['a guest of several channels', { is_restricted: true }],
    ['a guest of one channel', { is_restricted: true, is_ultra_restricted: true }],
    ['a person of another organization', { is_stranger: true }],
    ['a bot', { is_bot: true }],
    ['a deactivated account', { deleted: true }],
    ['an invited person who has not come', { is_invited_user: true }],
    ['a member of another workspace', { team_id: 'T999999999' }],
    ['a member without a workspace', { team_id: undefined }],
    ['a member of another organization', { team_id: 'T9', enterprise_user: { enterprise_id: 'E9', teams: ['T9'] } }],
    ['a user of whom Slack does not say whether they are a guest', { is_restricted: undefined }],
  ])('is of no one when it comes from %s', async (_, fields) => {
    expect(await as(fields)).toBeNull();
  });

  it('has no address when Slack has not confirmed it', async () => {
    expect(await as({ is_email_confirmed: false })).toEqual({ subject: slack.user('grace@example.com') });
  });

  it.each([
    ['another workspace', { team: { id: 'T999999999' } }],
    ['another organization', { team: null, enterprise: { id: 'E9' }, is_enterprise_install: true }],
    ['a user whom Slack does not know', { user: { id: 'U0NOBODY' } }],
  ])('is of no one when it names %s', async (_, changes) => {
    expect(await actorOf((payload) => ({ ...payload, ...changes }))).toBeNull();
  });

  it('is of a member of our workspace in our organization', async () => {
    slack.world.install({ enterprise_id: 'E1' });
    expect(await as({ team_id: 'E1', enterprise_user: { enterprise_id: 'E1', teams: [slack.team] } })).not.toBeNull();
    expect(await as({ team_id: 'E1', enterprise_user: { enterprise_id: 'E1', teams: ['T9'] } })).toBeNull();
    slack.world.install({ enterprise_id: undefined });
  });

  it.each([
    ['another kind', { type: 'view_submission' }],
    ['a place that is no message', { container: { type: 'view', view_id: 'V1' } }],
    ['no action', { actions: [] }],
    ['an action of another app', { actions: [{ action_id: 'other', value: 'a-sealed-token' }] }],
    ['a button without a token', { actions: [{ action_id: 'belay:approve' }] }],
    [
      'two decisions',
      {
        actions: [
          { action_id: 'belay:approve', value: 'a' },
          { action_id: 'belay:deny', value: 'b' },
        ],
      },
    ],
  ])('decides nothing when it has %s', async (_, changes) => {
    expect((await click((payload) => ({ ...payload, ...changes }))).decision).toBeUndefined();
  });

  it('is not known while Slack does not say who it was, and can be asked again', async () => {
    const { decision } = await click();
    expect(await faultOf(decision?.actor(AbortSignal.abort()) ?? Promise.resolve())).toBeInstanceOf(Retryable);
    expect(await decision?.actor(never())).not.toBeNull();
  });

  it('is answered to the one person who clicked, in words that mention no person', async () => {
    const { decision, channel } = await click();
    await decision?.tell?.('Already decided by <!channel>', never());
    expect(slack.world.whispers.at(-1)).toEqual({
      channel,
      user: slack.user('grace@example.com'),
      text: 'Already decided by &lt;!channel&gt;',
    });
  });
});
