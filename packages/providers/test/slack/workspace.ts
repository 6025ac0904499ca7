import { type Front, type SlackMessage, type SlackOptions, startFront, startSlack } from '@belay/targets';
import { type Message, type Notifications, type ProviderClient, slackConnector } from '../../src/index.js';

export const message: Message = {
  to: 'grace@example.com',
  title: 'A request waits for your decision',
  text: 'Ada requests reader: look at orders',
  facts: [
    { name: 'Role', value: 'reader' },
    { name: 'Reason', value: 'look at orders' },
  ],
  actions: [
    { kind: 'link', label: 'View request', url: 'https://belay.example.com/api/v1/approvals?id=1&x=2' },
    { kind: 'decision', label: 'Approve', verdict: 'approve', token: 'a-sealed-token' },
    { kind: 'decision', label: 'Deny request', verdict: 'deny', token: 'another-sealed-token' },
  ],
  idempotencyKey: 'execution/approve',
};

/** Returns a workspace with two members and a channel, and connectors in it. */
export async function openWorkspace(options: Partial<SlackOptions> = {}) {
  const now = options.now ?? Date.now;
  const slack = await startSlack({
    members: ['grace@example.com', 'ada@example.com'],
    channels: [{ name: 'approvals' }],
    ...options,
    now,
  });
  const clients: ProviderClient[] = [];
  const fronts: Front[] = [];
  return {
    ...slack,
    /** Returns a client of the connector, for the workspace or for a front before it. */
    async client(config: Record<string, unknown> = {}): Promise<ProviderClient & { notifications: Notifications }> {
      const { tokens, signingSecret } = slack.app;
      const given = { url: `${slack.url}/api`, token: tokens.full, signing_secret: signingSecret, decisions: 'on' };
      const client = await slackConnector.create(slackConnector.config.parse({ ...given, ...config }), {
        now,
        log: () => {},
      });
      clients.push(client);
      const { notifications } = client;
      if (!notifications) throw new Error('no channel');
      return { ...client, notifications };
    },
    async front(): Promise<Front> {
      const front = await startFront({ to: slack.url, now, inProcess: true });
      fronts.push(front);
      return front;
    },
    /** Returns the messages that the app has sent to a member, the newest first. */
    async inbox(email = 'grace@example.com'): Promise<SlackMessage[]> {
      return slack.messages(await slack.direct(slack.user(email)));
    },
    async [Symbol.asyncDispose]() {
      for (const client of clients) await client.close();
      for (const front of fronts) await front[Symbol.asyncDispose]();
      await slack[Symbol.asyncDispose]();
    },
  };
}

/** Returns every text of a message that a person sees. */
export function shown({ blocks = [] }: SlackMessage): string {
  return blocks
    .flatMap(({ text, fields = [], elements = [] }) => [text, ...fields, ...elements.map((one) => one.text)])
    .map((one) => one?.text ?? '')
    .join('\n');
}
