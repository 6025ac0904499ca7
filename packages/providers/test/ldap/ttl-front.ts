import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:tls';
import { EqualityFilter } from 'ldapts';
import { tie } from '../support/tie.js';
import type { ActiveDirectory } from './active-directory.js';
import { decode, type Element, element, encode, lengthOf } from './ber.js';

const linkTtl = '1.2.840.113556.1.4.2309';
/** The number of values of an attribute that Windows returns at once; it returns the others by their range. */
const atOnce = 1_500;
const tags = {
  search: 0x63,
  entry: 0x64,
  modify: 0x66,
  modified: 0x67,
  controls: 0xa0,
  sequence: 0x30,
  set: 0x31,
  text: 0x04,
};

/** A directory with memberships that end, by its own clock. */
export interface TtlFront extends AsyncDisposable {
  url: string;
  /** Returns when a membership ends, in milliseconds since 1970: undefined when it has no end, or was not added through this front. */
  endOf(group: string, person: string): Promise<number | undefined>;
  /** Moves the directory's clock on, and no other clock. */
  pass(milliseconds: number): void;
  /** Whether the feature is enabled in the forest. */
  enabled: boolean;
}

/**
 * Starts a proxy before a real Active Directory server (Samba, which does not have the feature). It adds only what Windows documents
 * about memberships with a time to live (MS-ADTS 3.1.1.3.1.2.4, 3.1.1.3.4.1.36, 3.1.1.9.2). It accepts `<TTL=seconds,name>` as a new
 * value of `member`, removes ended memberships before each operation, and returns `<TTL=seconds>,name` to searches with the control.
 */
export async function startTtlFront(server: ActiveDirectory): Promise<TtlFront> {
  const { target, admin } = server;
  let skipped = 0;
  const now = () => Date.now() + skipped;
  /** When memberships end, by the identifiers of group and person, which a rename does not change. */
  const ends = new Map<string, { group: string; person: string; at: number }>();
  const sockets = new Set<Socket>();
  const front = { enabled: true };

  const idOf = async (dn: string) => {
    const asked = { attributes: ['objectGUID'], explicitBufferAttributes: ['objectGUID'] };
    const { searchEntries } = await admin.search(dn, { ...asked, scope: 'base' });
    const id = searchEntries[0]?.objectGUID;
    if (!Buffer.isBuffer(id)) throw new Error('An entry has no identifier');
    return id.toString('hex');
  };
  const nameOf = async (id: string) => {
    const filter = new EqualityFilter({ attribute: 'objectGUID', value: Buffer.from(id, 'hex') });
    const { searchEntries } = await admin.search(target.suffix, { filter, attributes: ['1.1'] });
    return searchEntries[0]?.dn;
  };

  async function expire(): Promise<void> {
    for (const [key, { group, person, at }] of ends) {
      if (at > now()) continue;
      ends.delete(key);
      const [groupDn, personDn] = [await nameOf(group), await nameOf(person)];
      if (groupDn !== undefined && personDn !== undefined) await server.change(groupDn, 'delete', 'member', [personDn]);
    }
  }

  /** Removes the times from a modification. Returns a function that stores them after the modification has succeeded. */
  async function modify(operation: Element): Promise<() => Promise<void>> {
    const [name, changes] = operation.inside;
    const group = await idOf(String(name?.bytes)).catch(() => undefined);
    const after: { person: string; at: number | undefined }[] = [];
    for (const change of changes?.inside ?? []) {
      const [kind, attribute] = change.inside;
      const [type, values] = attribute?.inside ?? [];
      if (String(type?.bytes).toLowerCase() !== 'member') continue;
      for (const value of values?.inside ?? []) {
        const adding = kind?.bytes[0] === 0;
        const [, seconds, dn = String(value.bytes)] = (adding && /^<TTL=(\d+),(.*)>$/s.exec(String(value.bytes))) || [];
        const person = await idOf(dn).catch(() => undefined);
        if (seconds !== undefined && front.enabled) value.bytes = Buffer.from(dn);
        if (person === undefined) continue;
        after.push({ person, at: seconds === undefined ? undefined : now() + Number(seconds) * 1_000 });
      }
    }
    return async () => {
      for (const { person, at } of after) {
        const key = `${group} ${person}`;
        if (at === undefined || group === undefined) ends.delete(key);
        else ends.set(key, { group, person, at });
      }
    };
  }

  /**
   * Writes the times into an entry that was searched with the control, and cuts a range of members after `atOnce`
   * values.
   */
  async function showTimes(entry: Element): Promise<void> {
    const [name, attributes] = entry.inside;
    const group = await idOf(String(name?.bytes));
    for (const attribute of attributes?.inside ?? []) {
      const [type, values] = attribute.inside;
      const [, from] = /^member(?:;range=(\d+)-\*)?$/i.exec(String(type?.bytes)) ?? [null];
      if (from === null || !type || !values) continue;
      if (from !== undefined && values.inside.length > atOnce) {
        values.inside.length = atOnce;
        type.bytes = Buffer.from(`member;range=${from}-${Number(from) + atOnce - 1}`);
      }
      for (const one of ends.values()) {
        const dn = one.group === group ? await nameOf(one.person) : undefined;
        const value = values.inside.find(
          ({ bytes }) => dn !== undefined && String(bytes).toLowerCase() === dn.toLowerCase(),
        );
        if (value) value.bytes = Buffer.from(`<TTL=${Math.floor((one.at - now()) / 1_000)}>,${dn}`);
      }
    }
  }

  /** Adds the feature to the entries that describe the server and the forest. */
  function showFeature(entry: Element): void {
    const [name, attributes] = entry.inside;
    const dn = String(name?.bytes);
    const supported = attributes?.inside.find(({ inside: [type] }) => String(type?.bytes) === 'supportedControl');
    if (dn === '') supported?.inside[1]?.inside.push(element(tags.text, linkTtl));
    if (!front.enabled || !/^CN=Partitions,/i.test(dn)) return;
    const optional = 'CN=Optional Features,CN=Directory Service,CN=Windows NT,CN=Services,CN=Configuration';
    const feature = `CN=Privileged Access Management Feature,${optional},${target.suffix}`;
    const values = element(tags.set, [element(tags.text, feature)]);
    attributes?.inside.push(element(tags.sequence, [element(tags.text, 'msDS-EnabledFeature'), values]));
  }

  function serve(client: Socket): void {
    const upstream = connect({ host: '127.0.0.1', port: 636, servername: 'dc1.belay.test', ca: target.ca });
    tie(client, upstream, sockets);
    const showing = new Set<string>();
    const keeping = new Map<string, () => Promise<void>>();
    readMessages(client, async (message) => {
      const [id, operation, controls] = message.inside;
      const number = id?.bytes.toString('hex') ?? '';
      await expire();
      if (operation?.tag === tags.modify) keeping.set(number, await modify(operation));
      if (controls?.tag === tags.controls) {
        const others = controls.inside.filter(({ inside: [type] }) => String(type?.bytes) !== linkTtl);
        if (others.length < controls.inside.length) showing.add(number);
        controls.inside = others;
        if (others.length === 0) message.inside.pop();
      }
      upstream.write(encode(message));
    });
    readMessages(upstream, async (message) => {
      const [id, operation] = message.inside;
      const number = id?.bytes.toString('hex') ?? '';
      if (operation?.tag === tags.entry) {
        showFeature(operation);
        if (showing.has(number)) await showTimes(operation);
      }
      if (operation?.tag === tags.modified && operation.inside[0]?.bytes[0] === 0) await keeping.get(number)?.();
      client.write(encode(message));
    });
  }

  const listening = createServer(target.certificate, serve);
  await new Promise<void>((done) => listening.listen(0, '127.0.0.1', done));
  return Object.assign(front, {
    url: `ldaps://127.0.0.1:${(listening.address() as AddressInfo).port}`,
    pass: (milliseconds: number) => {
      skipped += milliseconds;
    },
    async endOf(group: string, person: string) {
      await expire();
      return ends.get(`${await idOf(group)} ${await idOf(person)}`)?.at;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => listening.close(done));
    },
  });
}

/** Passes whole messages to `take`, one after the other. */
function readMessages(socket: Socket, take: (message: Element) => Promise<void>): void {
  let rest: Buffer = Buffer.alloc(0);
  let before = Promise.resolve();
  socket.on('data', (data: Buffer) => {
    rest = Buffer.concat([rest, data]);
    for (let length = lengthOf(rest); length !== undefined && rest.length >= length; length = lengthOf(rest)) {
      const [message] = decode(rest.subarray(0, length));
      rest = rest.subarray(length);
      before = before.then(() => message && take(message)).catch(() => void socket.destroy());
    }
  });
}
