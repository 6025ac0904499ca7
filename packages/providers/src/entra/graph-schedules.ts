import { z } from 'zod';
import { parseAnswer } from '../http/answer.js';
import type { Api } from './api.js';
import { equal } from './names.js';
import { endOf, explainRefusal, markOf, type Order, type Schedules, type Subject } from './place.js';

const text = z.string().nullish();
const instanceSchema = z.object({ endDateTime: text, memberType: text }).loose();
const requestSchema = z
  .object({ id: z.string(), action: z.string(), status: z.string(), justification: text, createdDateTime: text })
  .loose();

/** Creates the schedules of Microsoft Graph for one kind of access; `base` is the start of their paths. */
export function graphSchedules(
  { graph, list }: Api,
  base: string,
  keysOf: (subject: Subject) => Readonly<Record<string, string>>,
  { filterBy, now }: { filterBy: readonly string[]; now: () => number },
): Omit<Schedules, 'hidesPlain'> {
  const query = (subject: Subject) => ({
    $filter: filterBy.map((name) => equal(name, keysOf(subject)[name] ?? '')).join(' and '),
  });
  const isOf = (subject: Subject, item: Record<string, unknown>) =>
    Object.entries(keysOf(subject)).every(([name, value]) => String(item[name]).toLowerCase() === value.toLowerCase());

  return {
    async ends(subject, signal) {
      const found: number[] = [];
      const call = { path: `${base}ScheduleInstances`, query: query(subject) };
      for await (const { item, time } of list(graph, call, instanceSchema, signal)) {
        const end = endOf(item.endDateTime, time);
        const direct = item.memberType?.toLowerCase() !== 'inherited' && item.memberType?.toLowerCase() !== 'group';
        if (isOf(subject, item) && direct && end !== undefined) found.push(end);
      }
      return found;
    },
    async requests(subject, signal) {
      const found = [];
      const call = { path: `${base}ScheduleRequests`, query: query(subject) };
      for await (const { item } of list(graph, call, requestSchema, signal)) {
        if (!isOf(subject, item)) continue;
        const at = Date.parse(item.createdDateTime ?? '') || 0;
        found.push({ id: item.id, action: item.action, status: item.status, mark: item.justification ?? '', at });
      }
      return found;
    },
    async submit(subject, { action, id, until }: Order, signal) {
      const at = `${base}ScheduleRequests`;
      const scheduleInfo = until && {
        startDateTime: new Date(now()).toISOString(),
        expiration: { type: 'afterDateTime', endDateTime: until.toISOString() },
      };
      const json = { action, ...keysOf(subject), justification: markOf(id), ...(scheduleInfo && { scheduleInfo }) };
      const answer = await graph.send({ method: 'POST', path: at, json, accept: [400, 403, 404, 409] }, signal);
      if (answer.status >= 400) return explainRefusal(answer, action);
      const asked = { service: 'Microsoft Graph', method: 'POST', path: at };
      return parseAnswer(z.object({ id: z.string(), status: z.string() }), answer.body, asked);
    },
  };
}
