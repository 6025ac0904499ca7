import { AccessError, type ErrorCode } from '@belay/contract/errors';
import { Retryable, Terminal } from '@belay/providers';
import type { Fault } from '@belay/workflow';

const standard = 'https://serverlessworkflow.io/spec/1.0.0/errors';

/** The fault type for access that an identity already holds, and that Belay therefore does not manage (R2). */
const HELD_OUTSIDE = 'https://belay.dev/errors/held-outside';
/** The fault type for access that cannot be granted beside other access, or whose end came first. */
const CONFLICT = 'https://belay.dev/errors/conflict';
/** The fault type for an approval that is missing, was denied or was given for other access. */
export const NOT_APPROVED = 'https://belay.dev/errors/not-approved';

const byCode: Partial<Record<ErrorCode, { type: string; status: number; title: string }>> = {
  invalid: { type: `${standard}/validation`, status: 400, title: 'Invalid request' },
  not_found: { type: `${standard}/validation`, status: 404, title: 'Not found' },
  forbidden: { type: `${standard}/authorization`, status: 403, title: 'Not allowed' },
  held_outside: { type: HELD_OUTSIDE, status: 409, title: 'The access is already held outside this service' },
  conflict: { type: CONFLICT, status: 409, title: 'The request conflicts with access that is held' },
  unavailable: { type: `${standard}/communication`, status: 503, title: 'Unavailable' },
};

/**
 * Returns an error of a function as the fault that its workflow sees; unexpected errors reveal no details (RFC 7807).
 */
export function faultOf(error: unknown): Fault {
  if (error instanceof AccessError) {
    const known = byCode[error.code];
    if (known)
      return {
        ...known,
        detail: [error.message, ...(error.issues ?? []).map((issue) => `${issue.path} ${issue.message}`)].join(': '),
      };
  }
  if (error instanceof Terminal || error instanceof Retryable) {
    return {
      type: `${standard}/communication`,
      status: 502,
      title: 'The provider rejected the request',
      detail: error.message,
    };
  }
  return { type: `${standard}/runtime`, status: 500, title: 'The task failed unexpectedly' };
}
