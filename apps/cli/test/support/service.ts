import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionDetails, InboxEntry, LogEntry, Suggestion } from '@belay/sdk';
import { initTRPC, TRPCError, tracked } from '@trpc/server';
import { createHTTPHandler } from '@trpc/server/adapters/standalone';

export const entry: InboxEntry = {
  id: 'a-1',
  execution_id: 'e-1',
  requester: { email: 'ada@example.com', name: 'Ada' },
  role: 'reporting-readonly',
  reason: 'figures \u001b[31mwrong',
  duration: 'PT20S',
  providers: ['demo-postgres'],
  grants: [
    {
      provider: 'demo-postgres',
      identity: 'ada',
      access: { role: 'reporting_readonly' },
      residual: 'PT0S',
      leaves_behind: null,
      native_expiry: null,
      target: '7/16384',
    },
    {
      provider: 'cloud',
      identity: 'ada@example.com',
      access: 'storage.read',
      residual: 'PT1H',
      leaves_behind: 'Files of the holder stay.',
      native_expiry: null,
      target: null,
    },
  ],
  request_digest: 'sha256:one',
  expires_at: '2030-01-02T00:00:00.000Z',
  created_at: '2030-01-01T00:00:00.000Z',
  count: 1,
  decisions: 0,
  because: null,
  decide_on_page: false,
  comments: 0,
  open_question: false,
};

/** What the words of a test are understood as. */
const suggestion: Suggestion = {
  status: 'suggested',
  output: {
    suggested_role: entry.role,
    suggested_duration: 'PT1H',
    suggested_providers: ['demo-postgres'],
    workflow_id: 'approve-and-grant',
    matched: ['read', 'revenue'],
    engine: 'lexical',
    alternatives: [
      {
        suggested_role: 'ledger-readonly',
        suggested_duration: 'PT1H',
        suggested_providers: ['cloud'],
        workflow_id: 'w',
      },
    ],
  },
};

export const logged: LogEntry = {
  timestamp: '2030-01-01T00:00:00.000Z',
  level: 'info',
  message: 'started \u001b[2J',
  provider: 'demo-postgres',
  user: 'ada@example.com',
  owner: 'ada@example.com',
  workflow_id: 'e-1',
  type: 'execution.started',
};

const me = {
  id: 'u-1',
  email: 'ada@example.com',
  name: 'Ada',
  groups: ['engineers'],
  provider: 'demo',
  expires_at: '2030-01-01T00:00:00.000Z',
};

function details(granted: boolean): ExecutionDetails {
  return {
    workflow_id: 'e-1',
    run_id: 'e-1',
    status: granted ? 'completed' : 'faulted',
    state: granted ? 'ended' : 'failed',
    start_time: '2030-01-01T00:00:00.000Z',
    execution_time: 'PT20S',
    task_queue: 'default',
    user: me.email,
    workflow_type: { name: 'approve-and-grant' },
    role: entry.role,
    providers: entry.providers,
    reason: entry.reason,
    duration: entry.duration,
    waiting_for: [],
    requested_at: '2030-01-01T00:00:00.000Z',
    decided_at: null,
    active_from: granted ? '2030-01-01T00:00:00.000Z' : null,
    ends_at: null,
    ended_at: '2030-01-01T00:00:20.000Z',
    decided_by: [],
    extends: null,
    history: [{ event_type: 'execution.started', timestamp: '2030-01-01T00:00:00.000Z', message: 'started' }],
    next: null,
    input: {},
    output: null,
    error: granted ? null : { type: 'denied', status: 403, title: 'Denied', detail: 'no approver approved' },
    end_time: '2030-01-01T00:00:20.000Z',
    approvals: [],
    grants: [
      {
        provider: 'demo-postgres',
        identity: 'ada',
        access: { role: 'reporting_readonly' },
        state: 'gone',
        granted_at: granted ? '2030-01-01T00:00:00.000Z' : null,
        expires_at: null,
        ended_reason: 'expired',
        gone_at: '2030-01-01T00:00:20.000Z',
        residual: 'PT0S',
        leaves_behind: null,
        pending: null,
        last_error: null,
      },
    ],
  };
}

export interface Service extends AsyncDisposable {
  url: string;
  /** Every call that changed something, as `path` and input. */
  changes: { path: string; input: unknown; idempotencyKey: string | undefined }[];
  /** What the next answers are made from. */
  state: {
    granted: boolean;
    approvals: InboxEntry[];
    failWith: TRPCError['code'] | undefined;
    authenticators: string[];
    suggestion: Suggestion;
    logs: LogEntry[];
    /** Roles beside the one that is always there, by what is different about them. */
    roles: { name: string; providers: string[] }[];
    health: Record<string, string>;
    ready: boolean;
    time: string;
    version: string;
    /** What is different about who signs in, and what is said of every change, failure and event. */
    user: { email?: string };
    message: string | undefined;
    /** What the next looks at a device login find; the last one stays. */
    device: ('pending' | 'slow_down' | 'complete' | 'denied')[];
  };
  /** Codes that a login may be ended with, and the challenge each was begun with. */
  codes: Map<string, string>;
  token: string;
}

/**
 * Returns the wire of the service with answers of the test's choosing, where a test needs an answer that is hard to
 * bring about.
 */
export async function startService(given: { token?: string; session?: string } = {}): Promise<Service> {
  const { router, procedure, middleware } = initTRPC.context<{ request: IncomingMessage }>().create();
  const token = given.token ?? 'token-of-ada';
  const changes: Service['changes'] = [];
  const state: Service['state'] = {
    granted: true,
    approvals: [entry],
    failWith: undefined,
    authenticators: ['demo'],
    suggestion,
    logs: [logged],
    roles: [],
    health: { storage: 'healthy', vault: 'not configured' },
    ready: true,
    time: '2030-01-01T00:00:00.000Z',
    version: '0.0.0-test',
    user: {},
    message: undefined,
    device: ['pending', 'slow_down', 'complete'],
  };
  const codes = new Map<string, string>();
  const open = procedure.input((value) => value as Record<string, string>);
  const signedIn = open.use(
    middleware(({ ctx, next }) => {
      if (ctx.request.headers.authorization !== `Bearer ${token}`)
        throw new TRPCError({ code: 'UNAUTHORIZED', message: 'Sign in first' });
      if (state.failWith)
        throw new TRPCError({ code: state.failWith, message: state.message ?? 'as the test wants it' });
      return next();
    }),
  );
  const change = <Answer>(answer: Answer) =>
    signedIn.mutation(({ ctx, path, input }) => {
      changes.push({ path, input, idempotencyKey: ctx.request.headers['idempotency-key'] as string | undefined });
      return state.message === undefined ? answer : { ...answer, message: state.message };
    });
  const role = {
    name: entry.role,
    description: 'Read the reports',
    providers: entry.providers,
    workflows: ['approve-and-grant'],
    enabled: true,
    max_duration: 'PT1H',
    default_duration: 'PT20M',
    reason: { required: true },
    inherits: [],
    grants: [{ provider: 'demo-postgres', access: { role: 'reporting_readonly' } }],
  };
  const remark = {
    id: 'c-1',
    kind: 'question',
    text: 'Which ticket?',
    author: { email: 'adam@example.com', name: 'Adam' },
    created_at: '2030-01-01T00:00:00.000Z',
  };
  const routes = router({
    auth: router({
      page: open.query(() => ({
        providers: state.authenticators.map((id) => ({
          id,
          name: id,
          description: '',
          url: `/api/v1/auth/request/${id}`,
        })),
      })),
      whoami: signedIn.query(() => ({ ...me, ...state.user })),
      token: open.mutation(({ input }) => {
        const challenge = createHash('sha256')
          .update(input.code_verifier ?? '')
          .digest('base64url');
        if (codes.get(input.code ?? '') !== challenge)
          throw new TRPCError({ code: 'BAD_REQUEST', message: 'The code is not good' });
        return { token, expires_at: me.expires_at, user: { ...me, ...state.user } };
      }),
      logout: change({ message: 'Signed out' }),
    }),
    device: router({
      start: open.mutation(() => ({
        device_code: 'secret-device-code',
        user_code: 'BCDF-GHJK',
        verification_uri: 'https://belay.example.com/auth/device',
        verification_uri_complete: 'https://belay.example.com/auth/device?user_code=BCDF-GHJK',
        expires_in: 60,
        interval: 5,
      })),
      token: open.mutation(({ input }) => {
        if (input.device_code !== 'secret-device-code') throw new TRPCError({ code: 'BAD_REQUEST' });
        const status = state.device.length > 1 ? state.device.shift() : state.device[0];
        if (status === 'denied') throw new TRPCError({ code: 'FORBIDDEN', message: 'The sign-in was denied' });
        return status === 'complete'
          ? { status, token, expires_at: me.expires_at, user: me, session: null }
          : { status, interval: status === 'slow_down' ? 10 : 5 };
      }),
    }),
    roles: router({
      list: signedIn.query(() => ({
        version: '1.0.1',
        roles: Object.fromEntries(
          [role, ...state.roles.map((more) => ({ ...role, ...more }))].map((each) => [each.name, { role: each }]),
        ),
      })),
      get: signedIn.query(() => role),
    }),
    providers: router({
      list: signedIn.query(() => ({
        version: '1.0.1',
        providers: [
          { _id: 'demo-postgres', _source: { provider: 'postgres', capabilities: ['authorizer'], description: 'd' } },
        ],
      })),
    }),
    elevation: router({
      suggest: signedIn.mutation(() => state.suggestion),
      request: change({ status: 'pending', output: { workflow_id: 'e-1', execution_id: 'e-1' } }),
    }),
    executions: router({
      list: signedIn.query(() => ({ executions: [details(state.granted)] })),
      get: signedIn.query(() => details(state.granted)),
      cancel: change({ status: 'ok', message: 'Cancelled' }),
      terminate: change({ status: 'ok', message: 'Terminated' }),
      watch: signedIn.subscription(async function* () {
        const at = { timestamp: '2030-01-01T00:00:00.000Z', status: 'running' };
        yield tracked('1', {
          seq: 1,
          event_type: `execution.started${state.message ?? ''}`,
          message: 'started\u001b[2J',
          ...at,
        });
        yield tracked('2', { seq: 2, event_type: 'execution.ended', message: 'ended', task: 'grant', ...at });
      }),
    }),
    approvals: router({
      inbox: signedIn.query(() => ({
        approvals: state.approvals,
        next: null,
        total: state.approvals.length,
        requesters: [],
      })),
      decide: change({ id: 'a-1', status: 'approved', execution_id: 'e-1' }),
      approvers: signedIn.query(() => ({
        people: [{ email: 'eve@example.com', name: 'Eve\u001b[2J', groups: ['approvers'], verdict: null }],
        more: false,
        unknown: { users: [], groups: ['auditors'] },
      })),
    }),
    comments: router({
      list: signedIn.query(() => ({
        comments: [{ ...remark, text: `${remark.text}\u001b[2J` }],
        next: null,
        open_question: true,
        may: [],
      })),
      add: change(remark),
    }),
    sessions: router({
      list: signedIn.query(() => ({
        version: '1.0.1',
        timestamp: '2030-01-01T00:00:00.000Z',
        sessions: { demo: { version: 2, expiry: '2030-01-01T01:00:00.000Z', session: given.session ?? 'sealed' } },
      })),
    }),
    system: router({
      ready: open.query(() => ({
        status: state.ready ? 'ready' : 'not ready',
        timestamp: state.time,
        version: state.version,
      })),
      health: open.query(() => ({
        status: 'healthy',
        path: '/health',
        timestamp: state.time,
        version: state.version,
        services: state.health,
      })),
    }),
    logs: router({ list: signedIn.query(() => ({ logs: state.logs })) }),
    access: router({
      list: signedIn.query(() => ({ access: [] })),
      return: change({ status: 'ok', message: 'Given back' }),
    }),
  });
  const handle = createHTTPHandler({
    router: routes,
    basePath: '/trpc/',
    createContext: ({ req }) => ({ request: req }),
  });
  const server: Server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost');
    if (!url.pathname.startsWith('/api/v1/auth/request/')) return handle(request, response);
    const code = `code-${codes.size + 1}`;
    codes.set(code, url.searchParams.get('code_challenge') ?? '');
    const back = new URL(url.searchParams.get('callback') ?? '');
    back.searchParams.set('code', code);
    response.writeHead(302, { location: back.href }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    changes,
    state,
    codes,
    token,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
