import type { AppRouter } from '@belay/sdk/trpc';
import { createTRPCClient, httpLink } from '@trpc/client';

export interface Asked {
  role: string;
  reason: string;
  duration: string;
  /** Repeats with the same key are the same request. */
  key: string;
}

/** Returns the options of queries and mutations for Belay at an address; any adapter of TanStack Query takes them. */
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
    /** One request; it is read again every two seconds until it is over. */
    request: (id: string) => ({
      queryKey: ['belay', 'requests', id],
      queryFn: ({ signal }: { signal: AbortSignal }) => belay.executions.get.query({ id }, { signal }),
      refetchInterval: 2_000,
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
