import type { IncomingMessage } from 'node:http';
import type { RestContext } from './exchange.js';

/** Data about a request that is kept until the response is sent, for the response and for the log. */
export interface RequestState {
  id: string;
  /** The caller, once recognised: an e-mail address, or `agent <name>`. */
  user?: string;
  /** The documented path that the request is for, with the names of its parameters; absent when there is none. */
  route?: string;
  /** The address of the request, when it is a short address that stands for a documented path. */
  address?: string;
  /** The context of its procedures, once the caller is recognised. */
  context?: RestContext;
  /** How long the response may take, in milliseconds, where that is longer than usual. */
  mayTake?: number;
  /** True when an error was sent because the request took too long, while its procedure still runs. */
  overdue?: boolean;
}

const kept = Symbol('state');

/** The state is stored on the request itself, because a WeakMap would cost more than all other bookkeeping of a request. */
interface Stateful extends IncomingMessage {
  [kept]?: RequestState;
}

/** Gives a request its state, with an id: that of the client when it is well-formed, else a new one. */
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
