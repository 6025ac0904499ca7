import { type Counters, compareCounters, lacks, positionOf } from '../counters.js';
import type { Course, Sighting, Trust } from '../history.js';
import { dialectOf, type LdapConfig } from './config.js';
import type { Directory, Session } from './session.js';
import { findContext, readTarget } from './subject.js';

/** The position of a domain controller: its `invocationId`, and the numbers up to which it has the changes of each controller. */
interface ControllerPosition {
  own: string;
  counters: Counters;
}

/**
 * Reads the sighting of a server, as far as it says so. OpenLDAP: `contextCSN`, by the id of the server where a change was made; nothing
 * where there is none. Active Directory: the sequence numbers up to which the domain controller has all changes, by `invocationId`. A
 * directory has no room for a mark.
 */
export async function readSighting(session: Session, config: LdapConfig): Promise<Sighting> {
  const context = await findContext(session, config.groups_base, 'groups_base');
  const sighting = { target: await readTarget(session, config), instance: null, mark: null, otherMarks: [] };
  if (dialectOf(config).active) return { ...sighting, ...(await readController(session, context)) };
  const top = await session.read(context, ['contextCSN']);
  const changes = (top?.texts('contextCSN') ?? []).map(readCsn).filter((one) => one !== undefined);
  const counters = Object.fromEntries(changes);
  return { ...sighting, unsettling: null, position: positionOf(counters) };
}

/** Returns how positions of `readSighting` compare. */
export function compareIn(config: LdapConfig): (known: string, seen: string) => Course {
  return dialectOf(config).active ? compareControllers : compareCounters;
}

/**
 * Compares the positions of domain controllers. Another controller counts when it has all changes that were made at the first one, and may
 * catch up otherwise. The same one never comes to have fewer changes: it was restored.
 */
export function compareControllers(known: string, seen: string): Course {
  const [before, now] = [JSON.parse(known), JSON.parse(seen)] as [ControllerPosition, ControllerPosition];
  const made = before.counters[before.own];
  if (made === undefined || !lacks({ [before.own]: made }, now.counters)) return 'ahead';
  return before.own === now.own ? 'behind' : 'late';
}

/**
 * Returns the server's id and the number of a change sequence number: `<time>.<microseconds>Z#<count>#<server>#<modification>`, with
 * hexadecimal digits after the first `#`. A later change has a greater number.
 */
export function readCsn(text: string): [string, string] | undefined {
  const [, time, part, count, server] = /^(\d{14})\.(\d{6})Z#([\da-f]{6})#([\da-f]{3})#[\da-f]{6}$/i.exec(text) ?? [];
  if (time === undefined || part === undefined || count === undefined || server === undefined) return undefined;
  return [server.toLowerCase(), `${time}${part}${String(Number.parseInt(count, 16)).padStart(8, '0')}`];
}

async function readController(session: Session, context: string): Promise<Pick<Sighting, 'unsettling' | 'position'>> {
  const root = await session.read('', ['dsServiceName', 'highestCommittedUSN', 'isSynchronized']);
  const isSynchronized = root?.texts('isSynchronized')[0]?.toUpperCase() !== 'FALSE';
  const unsettling = isSynchronized ? null : 'is a domain controller that is not synchronized yet';
  const [service = ''] = root?.texts('dsServiceName') ?? [];
  const [usn = ''] = root?.texts('highestCommittedUSN') ?? [];
  const settings = service === '' ? null : await session.read(service, ['invocationId']);
  const own = settings?.bytes('invocationId')[0]?.toString('hex');
  if (own === undefined || !/^\d+$/.test(usn)) return { unsettling, position: null };
  const top = await session.read(context, ['replUpToDateVector']);
  const [vector] = top?.bytes('replUpToDateVector') ?? [];
  const counters = { ...(vector && readVector(vector)), [own]: usn };
  return { unsettling, position: JSON.stringify({ own, counters } satisfies ControllerPosition) };
}

/** Returns the sequence numbers of an up-to-date vector, by `invocationId` (MS-DRSR 4.1.10.2.2, versions 1 and 2). */
export function readVector(bytes: Buffer): Counters {
  const version = bytes.length < 16 ? 0 : bytes.readUInt32LE(0);
  if (version !== 1 && version !== 2) return {};
  const size = version === 1 ? 24 : 32;
  const found: Record<string, string> = {};
  const count = bytes.readUInt32LE(8);
  for (let index = 0; index < count && 16 + (index + 1) * size <= bytes.length; index += 1) {
    const at = 16 + index * size;
    found[bytes.subarray(at, at + 16).toString('hex')] = bytes.readBigUInt64LE(at + 16).toString();
  }
  return found;
}

/** Returns the directory whose every call asks `trust` before its work. */
export function trustingDirectory(directory: Directory, config: LdapConfig, trust: Trust): Directory {
  return {
    call: (signal, work) =>
      directory.call(signal, async (session) => {
        await trust(() => readSighting(session, config));
        return work(session);
      }),
  };
}
