import { Retryable } from '../errors.js';
import { createHistory, type Position } from '../history.js';
import { dialectOf, type LdapConfig } from './config.js';
import type { Directory, Session } from './session.js';
import { findContext } from './subject.js';

/**
 * Returns the directory with calls that throw `Retryable` where the server lacks what it, or another one behind the address, had
 * before: for what is granted, revoked and read back.
 */
export function whileCurrent(directory: Directory, config: LdapConfig): Directory {
  const history = createHistory('The directory');
  return {
    call: (signal, work) =>
      directory.call(signal, async (session) => {
        const note = async () => history.require(await readPosition(session, config));
        await note();
        let changed = false;
        const result = await work({
          ...session,
          async change(...change) {
            changed = true;
            await session.change(...change);
          },
        });
        if (changed) await note();
        return result;
      }),
  };
}

/**
 * Returns how far the server has come, as far as it says so. OpenLDAP: `contextCSN`, by the id of the server where a change was made;
 * nothing where there is none. Active Directory: the sequence number of each domain controller up to which the one that responds has
 * all changes, by `invocationId`. Throws `Retryable` for a domain controller that is not synchronized since its start.
 */
export async function readPosition(session: Session, config: LdapConfig): Promise<Position> {
  const context = await findContext(session, config.groups_base, 'groups_base');
  if (dialectOf(config).active) return readActive(session, context);
  const top = await session.read(context, ['contextCSN']);
  return Object.fromEntries((top?.texts('contextCSN') ?? []).flatMap((text) => readCsn(text) ?? []));
}

/**
 * Returns the server's id and the number of a change sequence number: `<time>.<microseconds>Z#<count>#<server>#<modification>`, with
 * hexadecimal digits after the first `#`. A later change has a greater number.
 */
export function readCsn(text: string): [string, string] | undefined {
  const [, time, part, count, server] =
    /^(\d{14})\.(\d{6})Z#([\da-f]{6})#([\da-f]{3})#[\da-f]{6}$/i.exec(text) ?? [];
  if (time === undefined || part === undefined || count === undefined || server === undefined) return undefined;
  return [server.toLowerCase(), `${time}${part}${String(Number.parseInt(count, 16)).padStart(8, '0')}`];
}

async function readActive(session: Session, context: string): Promise<Position> {
  const root = await session.read('', ['dsServiceName', 'highestCommittedUSN', 'isSynchronized']);
  const [isSynchronized] = root?.texts('isSynchronized') ?? [];
  if (isSynchronized?.toUpperCase() === 'FALSE') {
    throw new Retryable('The domain controller is not synchronized yet: what it returns may be outdated');
  }
  const [service = ''] = root?.texts('dsServiceName') ?? [];
  const [usn = ''] = root?.texts('highestCommittedUSN') ?? [];
  const settings = service === '' ? null : await session.read(service, ['invocationId']);
  const [invocation] = settings?.bytes('invocationId') ?? [];
  const top = await session.read(context, ['replUpToDateVector']);
  const [vector] = top?.bytes('replUpToDateVector') ?? [];
  const others = vector === undefined ? {} : readVector(vector);
  if (invocation === undefined || !/^\d+$/.test(usn)) return others;
  return { ...others, [invocation.toString('hex')]: usn };
}

/** Returns the sequence numbers of an up-to-date vector, by `invocationId` (MS-DRSR 4.1.10.2.2, versions 1 and 2). */
export function readVector(bytes: Buffer): Position {
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
