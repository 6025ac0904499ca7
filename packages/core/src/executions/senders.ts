import { isNamed } from '@belay/contract/audience';
import { approvals, type Database, type executions, type Transaction } from '@belay/db';
import { type Admits, type JsonObject, listTasks, type Workflow } from '@belay/workflow';
import { eq } from 'drizzle-orm';
import { z } from 'zod';
import { wouldBeElevated } from '../approvals/elevated.js';
import { isExcluded, isRequester } from '../approvals/exclusion.js';
import type { ApprovalSubject } from '../approvals/inbox.js';
import { type From, fromOf, grants } from '../configuration/check-listens.js';
import type { Store, UserActor } from '../context.js';
import { foldName } from '../people/names.js';
import { listSelves } from '../people/selves.js';
import type { ElevationInput } from '../plans/input.js';

const senderSchema = z.union([
  z.object({
    kind: z.literal('user'),
    /** The requester, under any of their identities. */
    requester: z.boolean(),
    /** Named by an approval of this execution, and neither its requester nor a person whom it elevates. */
    approver: z.boolean(),
    /** Empty for the requester and the people to be elevated: no group lets them speak for their own access. */
    groups: z.array(z.string()),
  }),
  z.object({ kind: z.literal('source'), name: z.string() }),
]);
/** The sender of an event, as far as decisions need it. */
export type Sender = z.infer<typeof senderSchema>;

/** Returns the relation of a person to an execution, as a sender of events. */
export async function describeSender(
  db: Database | Transaction,
  user: UserActor,
  execution: Pick<typeof executions.$inferSelect, 'id' | 'ownerId' | 'input'>,
): Promise<Sender> {
  const [selves, asked] = await Promise.all([
    listSelves(db, user.id),
    db
      .select({ rule: approvals.rule, excluded: approvals.excluded })
      .from(approvals)
      .where(eq(approvals.executionId, execution.id)),
  ]);
  const requester = user.id === execution.ownerId || isRequester(selves, execution);
  // The request itself also names the people to be elevated: it may have no approval yet.
  const { identities = [], elevated = [] } = execution.input as Partial<ElevationInput>;
  const others = { excluded: [...identities.map(foldName), ...elevated] };
  const barred = requester || [...asked, others].some((one) => isExcluded(selves, one));
  return {
    kind: 'user',
    requester,
    approver: !barred && asked.some(({ rule }) => isNamed(user, rule)),
    groups: barred ? [] : user.groups,
  };
}

/**
 * Returns the sender; without the rights of approvers and groups when a system knows the person by an identity that the
 * request elevates. The name of such an identity does not always show whose it is. Systems are called only when the
 * result changes whether the sender's events count. Throws `unavailable` when a system cannot tell.
 */
export async function withoutOwnAccess(
  ctx: Store,
  user: UserActor,
  { sender, workflow, execution }: { sender: Sender; workflow: Workflow; execution: typeof executions.$inferSelect },
): Promise<Sender> {
  if (sender.kind === 'source' || !grants(workflow)) return sender;
  const barred = { ...sender, approver: false, groups: [] };
  if (!isHeard(workflow, sender) || isHeard(workflow, barred)) return sender;
  const asked = await ctx.db
    .select({ subject: approvals.subject })
    .from(approvals)
    .where(eq(approvals.executionId, execution.id));
  // The grants that approvers were shown, and the identities that the request names by their ids, because the request
  // may have no approval yet.
  const { identities = [], providers = [] } = execution.input as Partial<ElevationInput>;
  const elevated = [
    ...asked.flatMap(({ subject }) => (subject as ApprovalSubject).grants),
    ...providers.flatMap((provider) => identities.map((identity) => ({ provider, identity }))),
  ];
  const selves = [user, ...(await listSelves(ctx.db, user.id))];
  return (await wouldBeElevated(ctx, selves, { grants: elevated })) ? barred : sender;
}

/** Returns the sender of a stored signal. A signal from before senders were stored counts as sent by the requester, who may send least. */
export function readSender(stored: unknown): Sender {
  const parsed = senderSchema.safeParse(stored);
  return parsed.success ? parsed.data : { kind: 'user', requester: true, approver: false, groups: [] };
}

/** Returns which `listen` tasks of a workflow accept events of this sender. */
export function admitsFrom(workflow: Workflow, sender: Sender): Admits {
  const granting = grants(workflow);
  return (metadata) => {
    const from = fromOf(metadata);
    if (from !== undefined) return counts(from, sender);
    // Only older workflows can grant access without naming their senders. Then only events of approvers count.
    if (sender.kind === 'source') return false;
    return !granting || sender.approver;
  };
}

/**
 * Returns whether any `listen` of a workflow accepts events of this sender; `expressly` counts only tasks that name their senders. When no
 * task listens, the event of a person changes nothing and is not rejected.
 */
export function isHeard(workflow: Workflow, sender: Sender, { expressly = false } = {}): boolean {
  const admits = admitsFrom(workflow, sender);
  const listening = listTasks(workflow).filter(({ task }) => task.listen !== undefined);
  if (listening.length === 0) return !expressly && sender.kind === 'user';
  return listening.some(({ task }) => {
    const metadata = task.metadata as JsonObject | undefined;
    return admits(metadata) && (!expressly || metadata?.from !== undefined);
  });
}

function counts(from: From, sender: Sender): boolean {
  if (sender.kind === 'source') return from.sources?.includes(sender.name) === true;
  // Even in a named group, the requester's events count only with `requester: true`.
  if (sender.requester) return from.requester === true;
  if (from.approvers === true && sender.approver) return true;
  return from.groups?.some((group) => sender.groups.includes(group)) === true;
}
