import { auditColumns, csvLine } from '@belay/contract/csv';
import { printable } from '@belay/contract/printable';
import type { AccessFilter, AuditEntry, AuditFilter, BelayClient } from '@belay/sdk';
import { usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';
import { findRequest } from '../find-request.js';
import { momentForms, readMoment } from '../moment.js';
import { nameRole } from '../output/render-request.js';
import { noteMore, type Paging, withCursor } from '../paging.js';

interface Act {
  reason: string;
}

/** How many people are listed. */
const shown = 100;

/** Declares the commands of `belay admin` that only read: for administrators and auditors of a server. */
export function addAdminReads(parent: Parent): void {
  addCommand<AccessFilter & Paging>(parent, {
    name: 'access',
    description: 'list the access that people hold now',
    items: ({ access }) => access,
    examples: ['admin access', 'admin access --user rita@example.com --json'],
    options: (command) =>
      withCursor(
        command
          .option('--user <email>', 'only what this person requested')
          .option('--provider <id>', 'only at this system')
          .option('--role <name>', 'only of this role'),
      ),
    run: async ({ options: { user, provider, role, cursor }, output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const filter = { ...(user && { user }), ...(provider && { provider }), ...(role && { role }) };
      const found = await client.admin.listAccess(filter, { cursor, signal });
      output.result(found, () =>
        output.table(
          ['Person', 'Role', 'System', 'Until', 'Request'],
          found.access.map((held) => [
            held.user.email,
            nameRole(held.role, held.break_glass),
            held.provider,
            output.time(held.expires_at),
            held.execution_id,
          ]),
          'No active access',
        ),
      );
      noteMore(output, found);
      return undefined;
    },
  });
  addCommand<Paging>(parent, {
    name: 'overdue',
    description: 'list the revocations that are overdue, with their last error',
    items: ({ revocations }) => revocations,
    examples: ['admin overdue'],
    options: withCursor,
    run: async ({ options: { cursor }, output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const found = await client.admin.listOverdue({ cursor, signal });
      output.result(found, () =>
        output.table(
          ['Id', 'System', 'Identity', 'Since', 'Next try', 'Last error'],
          found.revocations.map((one) => [
            one.id,
            one.provider,
            one.identity,
            output.time(one.since),
            output.time(one.next_try),
            one.last_error,
          ]),
          'No overdue revocations',
        ),
      );
      noteMore(output, found);
      return undefined;
    },
  });
  addCommand<AuditFilter & { execution?: string; csv?: boolean }>(parent, {
    name: 'export',
    description: 'write the whole audit log, newest first, a line of JSON or of CSV each',
    examples: ['admin export --role admin --since 2026-11-01', 'admin export --csv --since 90d > audit.csv'],
    options: (command) =>
      command
        .option('--csv', 'write CSV with a line of names first, for a spreadsheet')
        .option('--user <email>', 'who acted, or whom it concerns')
        .option('--role <name>', 'only of requests for this role')
        .option('--provider <id>', 'only at this system')
        .option('--type <event>', 'only this event')
        .option('--execution <id>', 'only of this request')
        .option('--since <time>', `not before this: ${momentForms}`)
        .option('--until <time>', 'not after this, in the same forms'),
    run: async ({ options, output, connect, shell: { signal, clock } }) => {
      const { user, role, provider, type, execution } = options;
      const now = clock();
      const since = readMoment(options.since, { option: '--since', now, bound: 'start' });
      const until = readMoment(options.until, { option: '--until', now, bound: 'end' });
      const { client } = await connect();
      const execution_id = execution && (await findRequest(client, execution, signal));
      const given = { user, role, provider, type, execution_id, since, until };
      const filter = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      if (options.csv && output.json) throw usage('--csv cannot be used with --json, --jq or --template');
      const entries = client.admin.exportLogs(filter, { signal });
      // Print nothing before the server has responded, so that the file of a rejected export stays empty.
      let next = await entries.next();
      if (options.csv) output.event(auditColumns, () => toCsv(auditColumns));
      for (; next.done !== true; next = await entries.next()) {
        const entry = next.value;
        output.event(entry, () => (options.csv ? toCsv(cellsOf(entry)) : printable(JSON.stringify(entry))));
      }
      return undefined;
    },
  });
  addCommand<Paging & { from?: string }>(parent, {
    name: 'changes [version]',
    description: 'list the versions of the configuration, or what one changed',
    items: ({ versions, changes }) => versions ?? changes,
    examples: ['admin changes', 'admin changes 1.0.12', 'admin changes 1.0.12 --from 1.0.3'],
    options: (command) =>
      withCursor(command.option('--from <version>', 'the version to compare with; default: the one before')),
    run: async ({ args: [version], options: { from, cursor }, output, connect, shell: { signal } }) => {
      const { client } = await connect();
      if (version === undefined) {
        const found = await client.admin.listConfigurations({ cursor, signal });
        const rows = found.versions.map((one) => [one.version, output.time(one.applied_at), one.source]);
        output.result(found, () => output.table(['Version', 'Since', 'Source'], rows, 'No versions'));
        noteMore(output, found);
        return undefined;
      }
      const found = await client.admin.compareConfigurations({ version, ...(from && { from }) }, { signal });
      const rows = found.changes.map(({ path, hidden, before, after }) => [
        path,
        hidden ? '(hidden)' : before,
        hidden ? '(hidden)' : after,
      ]);
      output.result(found, () => output.table(['Key', 'Before', 'After'], rows, 'No changes'));
      if (found.truncated) output.note(`Only the first ${found.changes.length} changes are shown.`);
      return undefined;
    },
  });
  addCommand<Paging>(parent, {
    name: 'people [search]',
    description: 'list the people who have signed in',
    items: ({ people }) => people,
    examples: ['admin people', 'admin people rita'],
    options: withCursor,
    run: async ({ args: [q], options: { cursor }, output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const found = await client.admin.listPeople(q === undefined ? {} : { q }, { limit: shown, cursor, signal });
      const rows = found.people.map((one) => [
        one.email,
        one.name,
        one.logins,
        one.tokens,
        output.time(one.created_at),
      ]);
      output.result(found, () => output.table(['Person', 'Name', 'Logins', 'Tokens', 'Since'], rows, 'No people'));
      noteMore(output, found);
      return undefined;
    },
  });
  addCommand(parent, {
    name: 'person <email>',
    description: 'show a person with their logins and tokens',
    examples: ['admin person rita@example.com'],
    run: async ({ args: [email = ''], output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const found = await client.admin.getPerson(email, { signal });
      const rows = found.logins.map((one) => [one.id, one.kind, one.provider, one.label, output.time(one.expires_at)]);
      output.result(found, () => output.table(['Id', 'Kind', 'Provider', 'For', 'Until'], rows, 'No logins'));
      return undefined;
    },
  });
  addCommand<Paging>(parent, {
    name: 'agents',
    description: 'list the agents that are enrolled, and when each was last seen',
    items: ({ agents }) => agents,
    examples: ['admin agents'],
    options: withCursor,
    run: async ({ options: { cursor }, output, connect, shell: { signal } }) => {
      const { client } = await connect();
      const found = await client.admin.listAgents({ cursor, signal });
      const rows = found.agents.map((one) => [
        one.id,
        one.name,
        one.environment,
        output.time(one.seen_at),
        output.time(one.expires_at),
      ]);
      output.result(found, () => output.table(['Id', 'Name', 'Environment', 'Seen', 'Until'], rows, 'No agents'));
      noteMore(output, found);
      return undefined;
    },
  });
}

function cellsOf(entry: AuditEntry): unknown[] {
  return auditColumns.map((column) => entry[column]);
}

/** Returns a line of CSV without its line break, which the output adds. */
function toCsv(cells: readonly unknown[]): string {
  return printable(csvLine(cells).trimEnd());
}

interface Acting {
  name: string;
  description: string;
  example: string;
  act(admin: BelayClient['admin'], on: { id: string; reason: string }): Promise<{ message: string }>;
}

const acts: readonly Acting[] = [
  {
    name: 'retry <revocation>',
    description: 'make an overdue revocation due now',
    example: "admin retry 0197… --reason 'the system is back'",
    act: (admin, on) => admin.retryRevocation(on),
  },
  {
    name: 'stop <email>',
    description: 'end the logins, tokens, open requests and access of a person',
    example: "admin stop rita@example.com --reason 'left the company'",
    act: (admin, { id, reason }) => admin.stopPerson({ user: id, reason }),
  },
  {
    name: 'end-login <login>',
    description: 'end one login or token of a person',
    example: "admin end-login 0197… --reason 'laptop stolen'",
    act: (admin, on) => admin.endLogin(on),
  },
  {
    name: 'remove-agent <agent>',
    description: 'remove an agent: its credential ends',
    example: "admin remove-agent 0197… --reason 'the machine is gone'",
    act: (admin, on) => admin.removeAgent(on),
  },
];

interface Revoking extends Act, AccessFilter {
  execution?: string;
  endRequests?: boolean;
}

/** Declares the commands of `belay admin` that change something: for administrators of a server. Each requires a reason. */
export function addAdminActs(parent: Parent): void {
  addCommand<Revoking>(parent, {
    name: 'revoke',
    description: 'revoke the access of a person, at a system, of a role or of one request, now',
    examples: ["admin revoke --user rita@example.com --reason 'laptop stolen'"],
    options: (command) =>
      command
        .option('--user <email>', 'what this person requested')
        .option('--provider <id>', 'at this system')
        .option('--role <name>', 'of this role')
        .option('--execution <id>', 'of this request')
        .option('--end-requests', 'also end matching requests that are open')
        .requiredOption('--reason <text>', 'the reason, written to the audit log'),
    run: async ({ options, output, connect, shell: { signal } }) => {
      const { user, provider, role, execution, endRequests, reason } = options;
      if ([user, provider, role, execution].every((one) => one === undefined)) {
        throw usage(
          'say what to revoke: --user, --provider, --role or --execution; access that matches all of them ends',
        );
      }
      const { client } = await connect();
      const execution_id = execution && (await findRequest(client, execution, signal));
      const given = { user, provider, role, execution_id, end_requests: endRequests };
      const which = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      // One call revokes the access of a limited number of requests, so repeat it.
      let done = await client.admin.revokeAccess({ ...which, reason }, { signal });
      const revoked = [...done.revoked];
      while (done.more && done.revoked.length + done.ended.length > 0) {
        done = await client.admin.revokeAccess({ ...which, reason }, { signal });
        revoked.push(...done.revoked);
      }
      // The workflows of requests that were just revoked end on their own, so only the others are listed.
      const others = done.open.filter((id) => !revoked.includes(id));
      const open = others.map((id) => `  belay executions show ${id}`);
      output.result({ ...done, revoked }, () => [done.message, ...open].map(printable).join('\n'));
      return undefined;
    },
  });
  addCommand<Act & { left: string }>(parent, {
    name: 'accept <revocation>',
    description: 'leave the access that a revocation left at its system because others gave it',
    examples: ["admin accept 0197… --left 'The access was given by others (ops)' --reason 'in the team since today'"],
    options: (command) =>
      command
        .requiredOption('--left <text>', 'what is left, as the last error of `admin overdue` says')
        .requiredOption('--reason <text>', 'the reason, written to the audit log'),
    run: async ({ args: [id = ''], options: { left, reason }, output, connect }) => {
      const { client } = await connect();
      const done = await client.admin.acceptLeft({ id, left, reason });
      output.result(done, () => printable(done.message));
      return undefined;
    },
  });
  for (const { name, description, example, act } of acts) {
    addCommand<Act>(parent, {
      name,
      description,
      examples: [example],
      options: (command) => command.requiredOption('--reason <text>', 'the reason, written to the audit log'),
      run: async ({ args: [id = ''], options: { reason }, output, connect }) => {
        const { client } = await connect();
        const done = await act(client.admin, { id, reason });
        output.result(done, () => printable(done.message));
        return undefined;
      },
    });
  }
}
