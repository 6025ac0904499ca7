import type { Adapter, AdapterPayload } from 'oidc-provider';

interface Kept {
  payload: AdapterPayload;
  expiresAt: number;
}

const mostKept = 10_000;

/**
 * Returns a function that creates the in-memory store for one kind of data. A restart of the process only interrupts sign-ins in progress.
 * `now` returns milliseconds.
 */
export function createMemoryStore(now: () => number): (kind: string) => Adapter {
  const kept = new Map<string, Kept>();

  const makeRoom = () => {
    if (kept.size < mostKept) return;
    for (const [key, { expiresAt }] of kept) if (expiresAt <= now()) kept.delete(key);
    for (const key of kept.keys()) {
      if (kept.size < mostKept) break;
      kept.delete(key);
    }
  };

  return (kind) => {
    const key = (id: string) => `${kind} ${id}`;
    const read = (id: string) => {
      const found = kept.get(key(id));
      return found && found.expiresAt > now() ? found.payload : undefined;
    };
    const search = (matches: (payload: AdapterPayload) => boolean) =>
      [...kept].find(([id, one]) => id.startsWith(`${kind} `) && one.expiresAt > now() && matches(one.payload))?.[1];
    return {
      async upsert(id, payload, expiresIn) {
        makeRoom();
        const expiresAt = expiresIn === undefined ? Number.POSITIVE_INFINITY : now() + expiresIn * 1000;
        kept.set(key(id), { payload, expiresAt });
      },
      find: async (id) => read(id),
      findByUid: async (uid) => search((payload) => payload.uid === uid)?.payload,
      findByUserCode: async (code) => search((payload) => payload.userCode === code)?.payload,
      async consume(id) {
        const payload = read(id);
        if (payload) payload.consumed = Math.floor(now() / 1000);
      },
      async destroy(id) {
        kept.delete(key(id));
      },
      async revokeByGrantId(grantId) {
        for (const [id, { payload }] of kept) if (payload.grantId === grantId) kept.delete(id);
      },
    };
  };
}
