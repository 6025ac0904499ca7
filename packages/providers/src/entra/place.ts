import { z } from 'zod';
import { Pending, Retryable, Terminal } from '../errors.js';
import type { HttpAnswer } from '../http/answer.js';
import type { EntraAccess } from './access.js';
import { errorOf } from './api.js';
import { kinds } from './config.js';
import { isGuid, isScope } from './names.js';

const id = z.string().refine(isGuid);

/** An entitlement in identifiers that do not change, and whether it was granted by a schedule or as a plain assignment. */
export const subjectSchema = z.strictObject({
  kind: z.enum(kinds),
  user: id,
  /** The group or the role. */
  what: id,
  /** Empty for a group, `/` for a role of the directory. */
  scope: z.string().refine((text) => ['', '/'].includes(text) || isScope(text)),
  scheduled: z.boolean(),
});
export type Subject = z.infer<typeof subjectSchema>;

/** One kind of access: how it is found and checked, and the two ways to grant it. */
export interface Place {
  /** Returns the group or role with a name, or null. Throws `Terminal` when several groups have the name. */
  find(access: EntraAccess, signal: AbortSignal): Promise<Pick<Subject, 'what' | 'scope'> | null>;
  /** Returns every name of the group or role in the configuration; absent where it has one. */
  aliases?(subject: Subject, signal: AbortSignal): Promise<string[]>;
  /** Throws `Terminal` when the group or role does not exist or may not be granted. */
  check(subject: Subject, signal: AbortSignal): Promise<void>;
  plain: Plain;
  schedules: Schedules;
  /** Yields who holds an exclusive access, plainly or by a schedule. */
  holders(name: string, signal: AbortSignal): AsyncIterable<Holder>;
}

export interface Holder {
  user: string;
  /** The user principal name, where the list has it. */
  identity?: string;
  access: EntraAccess;
  what: string;
  scope: string;
  /** The identifier of the entitlement, where there is a mark; else empty. */
  mark: string;
}

/** Assignments without an end. */
export interface Plain {
  holds(subject: Subject, id: string, signal: AbortSignal): Promise<boolean>;
  add(subject: Subject, id: string, signal: AbortSignal): Promise<void>;
  /** Returns false when Entra reports that there is no assignment. */
  remove(subject: Subject, id: string, signal: AbortSignal): Promise<boolean>;
  /** Returns the names of the assignments that others made; absent where an assignment has no name. */
  others?(subject: Subject, id: string, signal: AbortSignal): Promise<string[]>;
}

/** Assignments with an end, made by requests that Entra works on (Privileged Identity Management). */
export interface Schedules {
  /** Returns when each assignment in force ends, in milliseconds since 1970; Infinity when it has no end. */
  ends(subject: Subject, signal: AbortSignal): Promise<number[]>;
  requests(subject: Subject, signal: AbortSignal): Promise<ScheduleRequest[]>;
  /** Returns the identifier and status of the new request, or whether the assignment already exists or is missing. */
  submit(subject: Subject, order: Order, signal: AbortSignal): Promise<Outcome>;
  /** Whether `ends` leaves out assignments that have no schedule. */
  hidesPlain: boolean;
}

export interface ScheduleRequest {
  id: string;
  action: string;
  status: string;
  mark: string;
  at: number;
}

export interface Order {
  action: 'adminAssign' | 'adminUpdate' | 'adminRemove';
  id: string;
  until?: Date;
  /** How many requests there were before, so that each has its own name. */
  after: number;
}

export type Outcome = { id: string; status: string } | 'exists' | 'missing';

/** Returns the text that marks a request, or a role assignment of Azure, as made by Belay. */
export const markOf = (id: string) => `Belay ${id}`;
export const readMark = (text: string | null | undefined) => /^Belay (.+)$/s.exec(text ?? '')?.[1] ?? '';

/**
 * Returns when an assignment ends, in milliseconds since 1970: Infinity without an end, undefined when it has ended by
 * the provider's clock.
 */
export function endOf(text: string | null | undefined, time: number | undefined): number | undefined {
  const end = Date.parse(text ?? '');
  if (Number.isNaN(end)) return Number.POSITIVE_INFINITY;
  return time !== undefined && end <= time ? undefined : end;
}

/**
 * Returns `exists` or `missing` when a request was rejected because its assignment already exists or is missing. Throws
 * `Pending`, `Retryable` or `Terminal` for every other rejection.
 */
export function explainRefusal(answer: HttpAnswer, action: Order['action']): Outcome {
  const { code, message } = errorOf(answer);
  const is = (...codes: string[]) => codes.some((one) => code === one || message.includes(one));
  if (is('RoleAssignmentExists')) return 'exists';
  // The account, the group or the scope no longer exists, so its assignments do not either.
  const gone = answer.status === 404 && action === 'adminRemove';
  if (gone || is('RoleAssignmentDoesNotExist')) return 'missing';
  if (is('PendingRoleAssignmentRequest', 'RoleAssignmentRequestExists')) {
    throw new Pending('Entra is working on another request for the same assignment');
  }
  if (is('ActiveDurationTooShort'))
    throw new Pending('Entra ends an assignment five minutes after its start at the earliest');
  if (is('AadPremiumLicenseRequired', 'MissingLicense')) {
    throw new Terminal('Entra has no licence for Privileged Identity Management here: leave this kind out of pim');
  }
  if (is('RoleAssignmentRequestPolicyValidationFailed')) {
    throw new Terminal(
      'The policy of Privileged Identity Management rejects it: it may permit shorter assignments only, or require a ticket',
    );
  }
  if (is('SubjectNotFound', 'PrincipalNotFound')) throw new Retryable('Entra does not know the account everywhere yet');
  if (answer.status === 403) throw new Terminal('Entra does not permit this to the connector');
  throw new Terminal('Entra rejected the request for an assignment');
}
