import { printable } from '@belay/contract/printable';
import { addCommand, type Parent } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { momentForms, readMoment } from '../moment.js';
import type { ConfigurationPlan } from '../shell.js';

/** Declares the command `belay plan`, which shows the effect of a configuration change on people. */
export function addPlan(parent: Parent): void {
  addCommand<{ against: string; since?: string }>(parent, {
    name: 'plan <path>',
    here: true,
    description: 'say what a change of the configuration does: who gains or loses which role, and who approves now',
    examples: ['plan config/ --against main/config', 'plan config/ --against main/config --since 90d --json'],
    values: { path: 'files' },
    options: (command) =>
      command
        .requiredOption('--against <path>', 'the configuration before the change')
        .option('--since <time>', `also by requests since then, from this installation's database: ${momentForms}`),
    run: async ({ args: [path = ''], options: { against, since }, output, shell }) => {
      const from = readMoment(since, { option: '--since', now: shell.clock(), bound: 'start' });
      const plan = await shell.operator.plan(path, against, from === undefined ? undefined : new Date(from));
      output.result(plan, () => describePlan(plan));
      if (!plan.ok) return exitCodes.failed;
      return isEmpty(plan) ? exitCodes.ok : exitCodes.changes;
    },
  });
}

type Changes = ConfigurationPlan & { ok: true };

function isEmpty({ roles, systems, past }: Changes): boolean {
  return roles.length + systems.length + (past?.rejected ?? 0) + (past?.otherwise ?? 0) + (past?.unknown ?? 0) === 0;
}

/** Returns the plan as Markdown, for the comment of a pull request; it can also be read in a terminal. */
export function describePlan(plan: ConfigurationPlan): string {
  if (!plan.ok) return plan.messages.map(printable).join('\n');
  const lines = [
    ...groupAlike(plan.roles).flatMap(describeRoles),
    ...plan.systems.map(({ provider, change }) => `- system **${printable(provider)}** ${change}`),
    ...describePast(plan),
  ];
  return lines.length === 0 ? 'Nothing changes.' : lines.join('\n');
}

type Role = Changes['roles'][number];

/** Groups the roles with the same changes: one edit of a workflow changes every role that names it. */
function groupAlike(roles: readonly Role[]): [first: Role, ...others: Role[]][] {
  const groups = new Map<string, [Role, ...Role[]]>();
  for (const role of roles) {
    const { role: _name, ...what } = role;
    const alike = groups.get(JSON.stringify(what));
    if (alike) alike.push(role);
    else groups.set(JSON.stringify(what), [role]);
  }
  return [...groups.values()];
}

/** How many of the roles with the same changes are named. */
const mostNamed = 10;

function describeRoles(roles: readonly [Role, ...Role[]]): string[] {
  const [{ change, terms, people }] = roles;
  const names = roles.slice(0, mostNamed).map(({ role }) => `**${printable(role)}**`);
  const more = roles.length - names.length;
  return [
    `- ${roles.length === 1 ? 'role' : `${roles.length} roles`} ${names.join(', ')}${more > 0 ? ` and ${more} more (--json names them)` : ''} ${change}`,
    ...terms.map(({ term, before, after }) => `  - ${term}: ${printable(before)} → ${printable(after)}`),
    ...people.map(
      ({ who, workflow, before, after }) =>
        `  - ${printable(who)}, by ${printable(workflow)}: ${printable(before)} → ${printable(after)}`,
    ),
  ];
}

function describePast({ past }: Changes): string[] {
  if (past === null) return [];
  const { count, more, rejected, otherwise, more_approvals, unknown, examples } = past;
  const others = otherwise - more_approvals;
  return [
    `- of ${count} past requests${more ? ', the latest' : ''}: ${rejected} would be rejected, ${more_approvals} would need more approvals, ${others} would be decided differently, ${unknown} are not known`,
    ...examples.map(
      ({ requested_at, requester, role, before, after }) =>
        `  - ${requested_at.slice(0, 10)} ${printable(requester)}, ${printable(role)}: ${printable(before)} → ${printable(after)}`,
    ),
  ];
}
