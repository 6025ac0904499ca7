import type { AppRouter } from '@belay/sdk/trpc';
import { createTRPCClient, httpLink } from '@trpc/client';

export interface Asked {
  role: string;
  reason: string;
  duration: string;
  /** Repeating a request with the same key creates only one request. */
  key: string;
}

/** The part of a query in the cache that says what was read last. */
interface Read {
  state: { data?: { state: string } | undefined };
}

/** The states of a request after which nothing changes. */
const over = ['ended', 'denied', 'cancelled', 'terminated', 'failed'];

/** Returns the options of queries and mutations for Belay at an address, for any adapter of TanStack Query. */
export function createBelay({ url, token }: { url: string; token: string }) {
  const belay = createTRPCClient<AppRouter>({
    links: [
      httpLink({
        url: `${url}/trpc`,
        headers: ({ op: { context } }) => ({
          authorization: `Bearer ${token}`,
          ...(typeof context.key === 'string' ? { 'idempotency-key': context.key } : {}),
        }),
      }),
    ],
  });
  return {
    /** The roles that the caller can request. */
    roles: {
      queryKey: ['belay', 'roles'],
      queryFn: ({ signal }: { signal: AbortSignal }) => belay.roles.list.query({}, { signal }),
    },
    /** One request, which is read again every two seconds until it is over. */
    request: (id: string) => ({
      queryKey: ['belay', 'requests', id],
      queryFn: ({ signal }: { signal: AbortSignal }) => belay.executions.get.query({ id }, { signal }),
      refetchInterval: ({ state: { data } }: Read) => (data && over.includes(data.state) ? false : 2_000),
    }),
    /** Requests a role; the key makes it safe to repeat. */
    elevate: {
      mutationFn: ({ key, ...asked }: Asked) => belay.elevation.request.mutate(asked, { context: { key } }),
      retry: 3,
    },
    /** Gives access back. */
    giveBack: {
      mutationFn: (id: string) => belay.access.return.mutate({ execution_id: id }),
    },
  };
}
