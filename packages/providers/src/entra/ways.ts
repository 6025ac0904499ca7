import { LeftToOthers, Pending, Terminal } from '../errors.js';
import type { Held } from '../port.js';
import { markOf, type Order, type Place, type ScheduleRequest, type Subject } from './place.js';
import type { Unsettled } from './unsettled.js';

/** How an entitlement is granted, read and revoked at a place. */
export interface Way {
  holds(subject: Subject, id: string, signal: AbortSignal): Promise<Held>;
  ensurePresent(subject: Subject, id: string, until: Date, signal: AbortSignal): Promise<void>;
  ensureAbsent(subject: Subject, id: string, signal: AbortSignal): Promise<void>;
}

const keyOf = (subject: Subject) => JSON.stringify(subject);
const notShown = () => new Pending('Entra does not show the assignment yet');

/** Returns the way that grants access without an end at Entra: only Belay ends it. */
export function plainly({ plain }: Place, unsettled: Unsettled): Way {
  return {
    async holds(subject, id, signal) {
      const key = keyOf(subject);
      if (!(await plain.holds(subject, id, signal))) return unsettled.isUnsettled(key) ? 'changing' : false;
      unsettled.end(key);
      return true;
    },
    async ensurePresent(subject, id, _until, signal) {
      await unsettled.inTurn(keyOf(subject), signal, async () => {
        unsettled.begin(keyOf(subject));
        await plain.add(subject, id, signal).catch((error: unknown) => {
          // Rejected: nothing was begun.
          if (error instanceof Terminal) unsettled.end(keyOf(subject));
          throw error;
        });
      });
    },
    async ensureAbsent(subject, id, signal) {
      await unsettled.inTurn(keyOf(subject), signal, async () => {
        // Removed without a read first: a read that lags could show no assignment, and nothing would be removed.
        const removed = await plain.remove(subject, id, signal);
        if (!removed && unsettled.isUnsettled(keyOf(subject))) throw notShown();
        unsettled.end(keyOf(subject));
        const others = (await plain.others?.(subject, id, signal)) ?? [];
        if (others.length > 0)
          throw new LeftToOthers(`The role is also given by ${others.join(', ')}, which Belay does not remove`);
      });
    },
  };
}

const isPending = ({ action, status }: Pick<ScheduleRequest, 'action' | 'status'>) =>
  /^admin(assign|remove)$/i.test(action) && /^(pending|accepted)/i.test(status);
const isFailed = (status: string) => /^(failed|denied|invalid|timedout)/i.test(status);
const isDone = (status: string) => /^(provisioned|granted|schedulecreated)/i.test(status);
const failed = () => new Terminal('Entra could not carry out the assignment');

/** Returns the way that grants access with an end at Entra, by requests that may take a while. */
export function bySchedules({ plain, schedules }: Place, unsettled: Unsettled): Way {
  async function submit(subject: Subject, order: Order, signal: AbortSignal) {
    const outcome = await schedules.submit(subject, order, signal);
    if (typeof outcome === 'string') return outcome;
    if (isFailed(outcome.status)) throw failed();
    if (order.action === 'adminAssign') unsettled.sent(keyOf(subject), outcome.id);
    // Entra accepted the removal, so it knows the assignment: a read no longer lags behind the grant.
    if (order.action === 'adminRemove') unsettled.end(keyOf(subject));
    if (isPending({ ...order, ...outcome })) throw new Pending('Entra is working on the assignment');
    return 'done';
  }

  async function readRequests(subject: Subject, signal: AbortSignal): Promise<ScheduleRequest[]> {
    const requests = await schedules.requests(subject, signal);
    const ended = requests.filter((one) => !isPending(one) && !isDone(one.status));
    unsettled.listed(
      keyOf(subject),
      ended.map(({ id }) => id),
    );
    return requests;
  }

  async function refuseWhilePending(subject: Subject, signal: AbortSignal): Promise<ScheduleRequest[]> {
    const requests = await readRequests(subject, signal);
    if (requests.some(isPending)) throw new Pending('Entra is working on the assignment');
    return requests;
  }

  const holdsPlainly = async (subject: Subject, id: string, signal: AbortSignal) =>
    schedules.hidesPlain && (await plain.holds(subject, id, signal));

  return {
    async holds(subject, id, signal) {
      const key = keyOf(subject);
      if ((await readRequests(subject, signal)).some(isPending)) return 'changing';
      const held = (await schedules.ends(subject, signal)).length > 0 || (await holdsPlainly(subject, id, signal));
      if (!held) return unsettled.isUnsettled(key) ? 'changing' : false;
      unsettled.end(key);
      return true;
    },

    async ensurePresent(subject, id, until, signal) {
      await unsettled.inTurn(keyOf(subject), signal, async () => {
        const requests = await refuseWhilePending(subject, signal);
        const shared = { id, after: requests.length };
        const ends = await schedules.ends(subject, signal);
        if (ends.length > 0) {
          if (Math.max(...ends) < until.getTime())
            await submit(subject, { ...shared, action: 'adminUpdate', until }, signal);
          return;
        }
        const ours = requests.filter(({ action, mark }) => mark === markOf(id) && /^adminassign$/i.test(action));
        const last = ours.sort((one, other) => other.at - one.at)[0];
        if (last && isFailed(last.status)) throw failed();
        unsettled.begin(keyOf(subject));
        try {
          await submit(subject, { ...shared, action: 'adminAssign', until }, signal);
        } catch (error) {
          // Rejected: nothing was begun.
          if (error instanceof Terminal) unsettled.end(keyOf(subject));
          throw error;
        }
      });
    },

    async ensureAbsent(subject, id, signal) {
      await unsettled.inTurn(keyOf(subject), signal, async () => {
        const after = (await refuseWhilePending(subject, signal)).length;
        const outcome = await submit(subject, { action: 'adminRemove', id, after }, signal);
        const removed = (await holdsPlainly(subject, id, signal)) && (await plain.remove(subject, id, signal));
        if (outcome === 'missing' && !removed && unsettled.isUnsettled(keyOf(subject))) throw notShown();
        unsettled.end(keyOf(subject));
      });
    },
  };
}
