import { printable } from '@belay/contract/printable';
import type { Approvers, BelayClient, Comment, ExecutionDetails } from '@belay/sdk';
import { usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';
import { findRequest } from '../find-request.js';
import { followExecution } from '../follow-execution.js';
import type { Output } from '../output/output.js';
import { describeAccess, describeState, nameRole } from '../output/render-request.js';
import { noteMore, type Paging, withCursor } from '../paging.js';

/** Declares the command `belay executions list`, which lists the caller's open requests. */
export function addExecutionsList(parent: Parent): void {
  addCommand<Paging>(parent, {
    name: 'list',
    description: 'list your open requests',
    examples: ['executions', 'executions list --json'],
    isDefault: true,
    items: ({ executions }) => executions,
    options: withCursor,
    run: async ({ options: { cursor }, output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const list = await client.executions.list({ cursor, signal });
      const ids = output.ids(list.executions.map(({ workflow_id }) => workflow_id));
      output.result(list, () =>
        output.table(
          ['Request', 'Role', 'Providers', 'State', 'Waiting for', 'Started'],
          list.executions.map((execution, index) => [
            ids[index],
            execution.role,
            execution.providers.join(', '),
            describeState(execution),
            execution.waiting_for.join(', '),
            output.time(execution.start_time),
          ]),
          'No open requests',
        ),
      );
      noteMore(output, list);
      return undefined;
    },
  });
}

interface Shown extends ExecutionDetails {
  comments: Comment[];
  /** Null when no approval is open. */
  approvers: Approvers | null;
}

function render(execution: Shown, output: Output): string {
  const error = execution.error;
  const sections = [
    output.fields({
      request: execution.workflow_id,
      state: describeState(execution),
      user: execution.user,
      role: nameRole(execution.role, execution.break_glass),
      providers: execution.providers.join(', '),
      reason: execution.reason,
      duration: execution.duration,
      workflow: execution.workflow_type.name,
      'waiting for': execution.waiting_for.join(', '),
      started: execution.start_time,
      ended: execution.end_time,
      error: error && [error.title ?? error.type, error.detail].filter(Boolean).join(': '),
    }),
  ];
  if (execution.grants.length > 0) {
    const rows = execution.grants.map((grant) => [
      grant.provider,
      grant.identity,
      describeAccess(grant.access),
      grant.state,
      output.time(grant.expires_at),
      grant.pending ? `waiting for the provider: ${grant.pending}` : (grant.last_error ?? grant.ended_reason),
    ]);
    sections.push(output.table(['Provider', 'Identity', 'Access', 'State', 'Until', 'Note'], rows, ''));
  }
  const decisions = execution.approvals.flatMap(({ decisions: made }) => made);
  if (decisions.length > 0) {
    const rows = decisions.map(({ approver, verdict, comment, decided_at }) => [
      output.time(decided_at),
      approver,
      verdict,
      comment,
    ]);
    sections.push(output.table(['Decided', 'By', 'Verdict', 'Comment'], rows, ''));
  }
  if (execution.comments.length > 0) {
    const rows = execution.comments.map(({ created_at, author, kind, text }) => [
      output.time(created_at),
      author.email,
      kind,
      text,
    ]);
    sections.push(output.table(['Written', 'By', 'Kind', 'Text'], rows, ''));
  }
  if (execution.approvers !== null) {
    const { people, unknown } = execution.approvers;
    const rows = [
      ...people.map(({ name, email, groups, verdict }) => [name, email, groups.join(', '), verdict]),
      ...unknown.users.map((email) => [null, email, null, null]),
      ...unknown.groups.map((group) => [null, null, group, null]),
    ];
    sections.push(output.table(['Can decide', 'Address', 'Group', 'Decided'], rows, ''));
  }
  const history = execution.history.map(({ timestamp, event_type, task, message }) => [
    output.time(timestamp),
    event_type,
    task,
    message,
  ]);
  sections.push(output.table(['Time', 'Event', 'Task', 'Message'], history, 'No events'));
  return sections.join('\n');
}

/** Returns one execution with its whole history and its comments; while it waits for approval, also with its approvers. */
async function getWhole(client: BelayClient, id: string, signal: AbortSignal): Promise<Shown> {
  const execution = await client.executions.get(id, { signal });
  for (let cursor = execution.next; cursor !== null; cursor = execution.next) {
    const older = await client.executions.get(id, { cursor, signal });
    execution.history.unshift(...older.history);
    execution.next = older.next;
  }
  const open = execution.approvals.some(({ status }) => status === 'open');
  const [comments, approvers] = await Promise.all([
    getComments(client, id, signal),
    open ? client.approvals.approvers(id, { signal }) : null,
  ]);
  return { ...execution, comments, approvers };
}

async function getComments(client: BelayClient, id: string, signal: AbortSignal): Promise<Comment[]> {
  const { comments, next } = await client.comments.list(id, { signal });
  for (let cursor = next; cursor !== null; ) {
    const later = await client.comments.list(id, { cursor, signal });
    comments.push(...later.comments);
    cursor = later.next;
  }
  return comments;
}

/** Declares the command `belay executions show <id>`, which shows a request with its grants, decisions and history. */
export function addExecutionsShow(parent: Parent): void {
  addCommand(parent, {
    name: 'show <id>',
    description: 'show one request with its grants, decisions, comments and history',
    examples: ['executions show 0197…'],
    values: { id: 'executions' },
    items: () => undefined,
    run: async ({ args: [given = ''], output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const id = await findRequest(client, given, signal);
      const execution = await getWhole(client, id, signal);
      output.result(execution, () => render(execution, output));
      return undefined;
    },
  });
}

interface WatchOptions {
  after?: string;
}

/**
 * Declares the command `belay executions watch <id>`, which prints every event until the request has ended and no
 * access is left. It exits with 8 when no access was ever active.
 */
export function addExecutionsWatch(parent: Parent): void {
  addCommand<WatchOptions>(parent, {
    name: 'watch <id>',
    description: 'follow a request until it has ended',
    examples: ['executions watch 0197…', 'executions watch 0197… --json --after 42'],
    values: { id: 'executions' },
    options: (command) => command.option('--after <seq>', 'start after the event with this seq'),
    run: async ({ args: [given = ''], options: { after }, output, connect, shell }) => {
      if (after !== undefined && !/^\d{1,15}$/.test(after))
        throw usage('--after must be the seq of an event, which is a number');
      const { client } = await connect();
      const id = await findRequest(client, given, shell.signal);
      return followExecution(client, id, output, shell, { until: 'over', lastEventId: after });
    },
  });
}

/** Declares the command `belay executions cancel <id>`, which cancels a request; its workflow can clean up first. */
export function addExecutionsCancel(parent: Parent): void {
  addCommand(parent, {
    name: 'cancel <id>',
    description: 'cancel a request; its workflow can clean up first',
    examples: ['executions cancel 0197…'],
    values: { id: 'executions' },
    run: async ({ args: [given = ''], output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const id = await findRequest(client, given, signal);
      const done = await client.executions.cancel(id, { signal });
      output.result({ execution_id: id, ...done }, () => printable(done.message));
      return undefined;
    },
  });
}

/** Declares the command `belay executions terminate <id>`, which terminates a request without clean-up; its access ends at once. */
export function addExecutionsTerminate(parent: Parent): void {
  addCommand(parent, {
    name: 'terminate <id>',
    description: 'terminate a request without clean-up; its access ends at once',
    examples: ['executions terminate 0197…'],
    values: { id: 'executions' },
    run: async ({ args: [given = ''], output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const id = await findRequest(client, given, signal);
      const done = await client.executions.terminate(id, { signal });
      output.result({ execution_id: id, ...done }, () => printable(done.message));
      return undefined;
    },
  });
}
