import { toStorable } from '@belay/contract/text';
import type { Fault } from './types.js';

/** The reserved type of the fault that `interrupt` raises at every waiting task (docs/architecture.md, section 5). */
export const CANCELLED = 'https://belay.dev/errors/cancelled';

const SPECIFIED = 'https://serverlessworkflow.io/spec/1.0.0/errors/';
const CONFORMANCE = 'https://serverlessworkflow.io/dsl/errors/types/';

const STATUS = {
  configuration: 400,
  validation: 400,
  expression: 400,
  authentication: 401,
  authorization: 403,
  timeout: 408,
  communication: 500,
  runtime: 500,
} as const;

const TITLE = {
  configuration: 'Configuration error',
  validation: 'Validation error',
  expression: 'Expression error',
  authentication: 'Authentication error',
  authorization: 'Authorization error',
  timeout: 'Timeout',
  communication: 'Communication error',
  runtime: 'Runtime error',
} as const;

/** The names of the DSL's standard error types (DSL reference, "Standard Error Types"). */
export type StandardFault = keyof typeof STATUS;

/**
 * Returns one of the DSL's standard errors, with its default status and title unless `more` overrides them, and with a detail that
 * can be stored. The machine adds a missing `instance`.
 */
export function standardFault(name: StandardFault, more: Omit<Partial<Fault>, 'type'> = {}): Fault {
  const fault: Fault = { type: `${SPECIFIED}${name}`, status: STATUS[name], title: TITLE[name], ...more };
  // A detail can name a field or contain a value of data from outside.
  return fault.detail === undefined ? fault : { ...fault, detail: toStorable(fault.detail) };
}

/** Returns a fault of exactly these parts, without the undefined ones, and with every text fit to be stored. */
export function newFault(parts: {
  type: string;
  status: number;
  instance: string;
  title?: string | undefined;
  detail?: string | undefined;
}): Fault {
  const fault: Fault = { type: toStorable(parts.type), status: parts.status, instance: toStorable(parts.instance) };
  if (parts.title !== undefined) fault.title = toStorable(parts.title);
  if (parts.detail !== undefined) fault.detail = toStorable(parts.detail);
  return fault;
}

/** Returns whether two error types are the same: the specification and its conformance kit spell a type differently. */
export function sameFaultType(one: string, other: string): boolean {
  return one === other || specified(one) === specified(other);
}

function specified(type: string): string {
  return type.startsWith(CONFORMANCE) ? `${SPECIFIED}${type.slice(CONFORMANCE.length)}` : type;
}

/** Carries a fault out of a task; the machine converts it back to a value when the task ends. */
export class Raised extends Error {
  override readonly name = 'Raised';
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.type);
    this.fault = fault;
  }
}
