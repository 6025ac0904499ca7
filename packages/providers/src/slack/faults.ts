import { Retryable, Terminal } from '../errors.js';
import type { HttpAnswer } from '../http/answer.js';
import { readRetryAfter } from '../http/wait.js';

/** An error with Slack's own code, kept as the cause for the log. */
class SlackFault extends Error {
  override readonly name = 'SlackFault';
  constructor(readonly code: string) {
    super(code);
  }
}

const busy = ['ratelimited', 'rate_limited'];
const passing = ['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout', 'team_added_to_org'];
const ofCredentials = [
  'not_authed',
  'invalid_auth',
  'account_inactive',
  'token_revoked',
  'token_expired',
  'no_permission',
  'org_login_required',
  'access_denied',
  'ekm_access_denied',
  'enterprise_is_restricted',
  'not_allowed_token_type',
  'team_access_not_granted',
];

/** Converts an error that Slack returns with status 200 to an error of the port; undefined when the response has no error. */
export function explainSlack(answer: HttpAnswer, now: number): Retryable | Terminal | undefined {
  const code = codeOfAnswer(answer);
  if (code === undefined) return undefined;
  const cause = new SlackFault(code);
  if (busy.includes(code)) {
    const wait = readRetryAfter(answer, now);
    return new Retryable('Slack is handling too many requests', {
      cause,
      ...(wait === undefined ? {} : { afterMilliseconds: wait }),
    });
  }
  if (passing.includes(code)) return new Retryable(`Slack is temporarily unavailable (${code})`, { cause });
  if (code === 'missing_scope') return new Terminal('The Slack app lacks a scope; belay doctor names it', { cause });
  if (ofCredentials.includes(code))
    return new Terminal(`Slack does not accept the connector's token (${code})`, { cause });
  return new Terminal(`Slack rejected the request (${code})`, { cause });
}

/** Returns the milliseconds to wait when Slack reports a rate limit with status 200. */
export function waitOfSlack(answer: HttpAnswer, now: number): number | undefined {
  return busy.includes(codeOfAnswer(answer) ?? '') ? readRetryAfter(answer, now) : undefined;
}

/** Returns Slack's code for an error that it returned; undefined for every other error. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && error.cause instanceof SlackFault ? error.cause.code : undefined;
}

/**
 * Returns the same error, but `Retryable` when an operator has to correct the token or a scope: the message must still be delivered
 * after that.
 */
export function explainMessageFault(error: unknown): unknown {
  const code = codeOf(error);
  if (!(error instanceof Terminal) || code === undefined) return error;
  const isMended = code === 'missing_scope' || ofCredentials.includes(code);
  return isMended ? new Retryable(error.message, { cause: error.cause }) : error;
}

function codeOfAnswer({ status, body }: HttpAnswer): string | undefined {
  if (status < 200 || status >= 300 || body === null || typeof body !== 'object') return undefined;
  const { ok, error } = body as { ok?: unknown; error?: unknown };
  if (ok !== false) return undefined;
  return typeof error === 'string' && /^[a-z0-9_]{1,60}$/.test(error) ? error : 'unknown_error';
}
