import type { Belay } from './open.js';

/** Resolves when the reconciler has recorded a change of a person's entitlement: it is granted, or gone. */
export type NextRecord = (email: string) => Promise<void>;

/**
 * Listens to the jobs that the reconciler sends after each record, so that the database is not queried in the meantime. Every
 * person has exactly one entitlement, whose id is looked up once.
 */
export function listenToRecords(belay: Belay): NextRecord {
  const waiting = new Map<string, () => void>();
  const emails = new Map<string, string>();
  belay.onJob((job) => {
    // An early end sends a job without a time; the job after a record has the time of the next look.
    if (job.queue !== 'entitlements' || job.dueAt === undefined) return;
    void announce(job.entitlementId);
  });
  return (email) => new Promise((resolve) => waiting.set(email, resolve));

  async function announce(id: string): Promise<void> {
    let email = emails.get(id);
    if (email === undefined) {
      const [row] = await belay.observer`select identity from entitlements where id = ${id}`;
      email = String(row?.identity ?? '');
      emails.set(id, email);
    }
    waiting.get(email)?.();
  }
}
