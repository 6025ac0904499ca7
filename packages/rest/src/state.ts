import type { IncomingMessage } from 'node:http';
import type { RestContext } from './exchange.js';

/** What we keep beside a request while it is answered, for its answer and its line in the log. */
export interface RequestState {
  id: string;
  /** Who asked, once known. */
  user?: string;
  /** The documented path that the request is for, with the names of its parameters; absent when there is none. */
  route?: string;
  /** The address of the request, where it is a short one for a documented path. */
  address?: string;
  /** The context of its procedures, once its caller is recognised. */
  context?: RestContext;
  /** How long it may take, in milliseconds, where that is longer than usual. */
  mayTake?: number;
  /** True when it was answered because of the time that it took, and is still worked on. */
  overdue?: boolean;
}

const kept = Symbol('state');

/** On the request itself: a WeakMap costs each request more than the rest of its bookkeeping. */
interface Stateful extends IncomingMessage {
  [kept]?: RequestState;
}

/** Gives the request its id: the client's own when it looks like one, else a new one. */
export function beginRequest(request: IncomingMessage, newId: () => string): RequestState {
  const given = request.headers['x-request-id'];
  const id = typeof given === 'string' && /^[A-Za-z0-9._-]{8,128}$/.test(given) ? given : newId();
  const state: RequestState = { id };
  (request as Stateful)[kept] = state;
  return state;
}

export function stateOf(request: IncomingMessage): RequestState {
  return (request as Stateful)[kept] ?? { id: '' };
}

/**
 * Returns a source of request ids: an id of this process, then a number. The ids are not secret, so they need no new
 * randomness.
 */
export function requestIds(newId: () => string): () => string {
  const prefix = newId();
  let count = 0;
  return () => {
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}
