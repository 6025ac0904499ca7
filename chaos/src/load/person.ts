import type { AccessRequest, History } from '../history.js';
import type { Random } from '../seed.js';
import { goAhead, grantsAtOnce, racing, roles } from '../stage/names.js';
import type { Client } from './client.js';

const over = ['ended', 'denied', 'cancelled', 'terminated', 'failed'];
const stillRuns = ['pending', 'running', 'waiting', 'suspended'];

/** The used fields of an execution as GET /execution/{id} returns it. */
interface Execution {
  state: string;
  status: string;
  error: { type: string; detail?: string } | null;
  grants: { state: string; expires_at: string | null }[];
}

/** The calls of a person over HTTP; what they return is recorded in the history of the request. */
export interface Person {
  name: string;
  request(role: string, seconds: number, expected?: readonly string[]): Promise<AccessRequest>;
  /** Sends the same request with the same key once more. */
  repeat(request: AccessRequest): Promise<void>;
  /** Returns the state of a request; with `until`, waits some seconds for that state. */
  read(request: AccessRequest, until?: 'approval' | 'active' | 'ended'): Promise<string>;
  /** Reads a request again and again until nothing is held and nothing runs, or `patience` milliseconds are over. */
  follow(request: AccessRequest, patience: number): Promise<void>;
  giveBack(request: AccessRequest): Promise<void>;
  cancel(request: AccessRequest): Promise<void>;
  signal(request: AccessRequest): Promise<void>;
  /** Returns the states of the access that this person holds, by execution. */
  listAccess(): Promise<Map<string, string>>;
  /** Returns how many executions of this person run. */
  countRunning(): Promise<number>;
  /** Returns the executions that this person requested, according to Belay's log. */
  readLog(): Promise<string[]>;
}

export function createPerson(name: string, client: Client, history: History, random: Random): Person {
  let count = 0;
  const bodies = new Map<string, object>();
  const either = () => random.between(0, 1);

  async function send(request: AccessRequest): Promise<void> {
    const { body } = await client.call({
      operation: 'request',
      method: 'POST',
      path: '/api/v1/elevate',
      body: bodies.get(request.key),
      key: request.key,
      first: either(),
    });
    const id = (body as { output: { execution_id: string } }).output.execution_id;
    request.acknowledgedAt ??= Date.now();
    if (!request.ids.includes(id)) request.ids.push(id);
  }

  async function end(request: AccessRequest, operation: string, method: 'GET' | 'POST', path: string): Promise<void> {
    const onSend = (at: number) => {
      request.endSentAt ??= at;
    };
    // 409: the request has ended by itself, or by an attempt whose answer was lost.
    await client.call({ operation, method, path, accepts: [409], first: either(), onSend });
    request.endedAt ??= Date.now();
  }

  async function read(request: AccessRequest, until?: string): Promise<Execution> {
    const query = until === undefined ? '' : `?until=${until}&wait=PT5S`;
    const { body } = await client.call({
      operation: until === undefined ? 'read' : 'wait',
      method: 'GET',
      path: `/api/v1/execution/${request.ids[0]}${query}`,
      first: either(),
    });
    note(request, body as Execution);
    return body as Execution;
  }

  return {
    name,
    async request(role, seconds, expected = ['completed']) {
      count += 1;
      const workflow = roles[role]?.workflow ?? '';
      const now = Date.now();
      const request: AccessRequest = {
        key: `${name}-${count}`,
        person: name,
        holdings: (roles[role]?.grants ?? []).map((grant) => `${name} ${grant}`),
        duration: seconds * 1_000,
        sentAt: now,
        acknowledgedAt: null,
        ids: [],
        mayHoldFrom: grantsAtOnce.includes(workflow) ? now : null,
        activeAt: null,
        expiresAt: null,
        endSentAt: null,
        endedAt: null,
        goneAt: null,
        final: null,
        expected,
        races: racing.includes(workflow),
      };
      bodies.set(request.key, { role, reason: request.key, duration: `PT${seconds}S` });
      history.requests.push(request);
      await send(request);
      return request;
    },
    repeat: send,
    read: async (request, until) => (await read(request, until)).state,
    async follow(request, patience) {
      const deadline = Date.now() + patience;
      while (Date.now() < deadline) {
        const { state, status } = await read(request, 'ended');
        if (over.includes(state) && !stillRuns.includes(status)) return;
        // The access has ended, but the workflow may still run for a moment.
        if (over.includes(state)) await new Promise((resolve) => setTimeout(resolve, 200));
      }
    },
    giveBack: (request) => end(request, 'return', 'POST', `/api/v1/access/${request.ids[0]}/return`),
    cancel: (request) => end(request, 'cancel', 'GET', `/api/v1/execution/${request.ids[0]}/cancel`),
    async signal(request) {
      const path = `/api/v1/execution/${request.ids[0]}/signal`;
      const made = await client.call({
        operation: 'prepare signal',
        method: 'POST',
        path: `${path}/token`,
        body: { type: goAhead },
        first: either(),
      });
      const { input } = made.body as { input: string };
      const onSend = (at: number) => {
        request.mayHoldFrom ??= at;
      };
      await client.call({
        operation: 'signal',
        method: 'GET',
        path: `${path}?input=${encodeURIComponent(input)}`,
        accepts: [409],
        first: either(),
        onSend,
      });
    },
    async listAccess() {
      const { body } = await client.call({ operation: 'list', method: 'GET', path: '/api/v1/access', first: either() });
      const { access } = body as { access: { execution_id: string; state: string }[] };
      return new Map(access.map((each) => [each.execution_id, each.state]));
    },
    async countRunning() {
      const path = '/api/v1/executions';
      const { body } = await client.call({ operation: 'list', method: 'GET', path, first: either() });
      return (body as { executions: unknown[] }).executions.length;
    },
    async readLog() {
      const ids = new Set<string>();
      for (let cursor: string | null = ''; cursor !== null; ) {
        const path: string = `/api/v1/logs/export?type=elevation.requested${cursor === '' ? '' : `&cursor=${cursor}`}`;
        const { body } = await client.call({ operation: 'log', method: 'GET', path, first: either() });
        const page = body as { logs: { workflow_id: string }[]; next: string | null };
        for (const { workflow_id } of page.logs) ids.add(workflow_id);
        cursor = page.next;
      }
      return [...ids];
    },
  };
}

function note(request: AccessRequest, { state, status, error, grants }: Execution): void {
  const now = Date.now();
  request.final = { state, status, detail: error ? `${error.type} ${error.detail ?? ''}`.trim() : '' };
  const ends = grants.flatMap(({ expires_at }) => (expires_at === null ? [] : [Date.parse(expires_at)]));
  if (ends.length > 0) request.expiresAt = Math.min(...ends);
  if (state === 'active') request.activeAt ??= now;
  if (over.includes(state)) request.goneAt ??= now;
}
