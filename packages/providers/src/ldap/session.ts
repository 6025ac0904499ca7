import { guardBy } from '../abort.js';
import { Terminal } from '../errors.js';
import { dialectOf, type LdapConfig } from './config.js';
import { type Client, type Library, withConnection } from './connect.js';
import { code, codeOf, toPortError } from './faults.js';

/** An entry as it was read: its name, and each attribute that was requested as a list of values. */
export interface Entry {
  dn: string;
  texts(attribute: string): string[];
  bytes(attribute: string): Buffer[];
}

/** Values are data: they are encoded by the library and never become part of a filter's text. */
export type Condition =
  | { is: string; value: string | Buffer }
  | { has: string; text: string }
  | { within: string; value: string }
  | { all: readonly Condition[] }
  | { any: readonly Condition[] }
  | { filter: string };

/** The operations that the connector needs on one connection. Every method throws the errors of the library. */
export interface Session {
  /** Returns the entry with this name, or null when it does not exist or the name is not valid. */
  read(dn: string, attributes: readonly string[]): Promise<Entry | null>;
  /** Returns up to `most` entries below `base`, 2 unless set. */
  find(base: string, condition: Condition, attributes: readonly string[], most?: number): Promise<Entry[]>;
  /** Reads all entries below `base`, in pages. */
  pages(base: string, condition: Condition, attributes: readonly string[]): AsyncIterable<Entry[]>;
  /** Returns whether an attribute of an entry has the value. Throws when there is no such entry. */
  has(dn: string, attribute: string, value: string): Promise<boolean>;
  change(dn: string, attribute: string, values: { add?: string; remove?: string }): Promise<void>;
  /**
   * Returns the seconds until a value of an attribute expires: `Infinity` where the value has no end, null where the attribute does
   * not have the value (MS-ADTS 3.1.1.3.4.1.36). For Active Directory only.
   */
  timeToLive(dn: string, attribute: string, value: string): Promise<number | null>;
  /** Returns whether the server accepts values with a time to live: a feature that a forest has to enable (MS-ADTS 3.1.1.9.2). */
  takesTimeToLive(): Promise<boolean>;
}

export interface Directory {
  /** Runs `work` on a connection of its own. Throws `Retryable` or `Terminal`. */
  call<T>(signal: AbortSignal, work: (session: Session) => Promise<T>): Promise<T>;
}

/** Attributes whose values are bytes and not text. */
const binary = ['objectGUID', 'objectSid', 'invocationId', 'replUpToDateVector'];
const pageSize = 500;
/** Active Directory's rule that follows nested memberships. */
const inChain = '1.2.840.113556.1.4.1941';
/** Active Directory's control that shows the time to live of values. */
const linkTtl = '1.2.840.113556.1.4.2309';
const featureName = 'Privileged Access Management Feature';

/** The error for a membership with an end that cannot be written. */
export const withoutFeature = `the forest has not enabled the ${featureName}`;

export function openDirectory(library: Library, config: LdapConfig): Directory {
  const guard = guardBy(toPortError);
  return {
    call: (signal, work) =>
      guard(signal, () =>
        withConnection(library, config, signal, (client) => work(sessionOn(library, client, dialectOf(config).active))),
      ),
  };
}

function sessionOn(library: Library, client: Client, active: boolean): Session {
  const options = (condition: Condition, attributes: readonly string[]) => ({
    filter: toFilter(library, condition),
    attributes: [...attributes],
    explicitBufferAttributes: binary,
  });
  const read: Session['read'] = async (dn, attributes) => {
    try {
      const everything = { filter: '(objectClass=*)' };
      const { searchEntries } = await client.search(dn, { ...options(everything, attributes), scope: 'base' });
      return searchEntries.map(toEntry)[0] ?? null;
    } catch (error) {
      const result = codeOf(error);
      if (result === code.noSuchObject || result === code.invalidName) return null;
      throw error;
    }
  };
  return {
    read,
    async find(base, condition, attributes, most = 2) {
      const { searchEntries } = await client.search(base, { ...options(condition, attributes), sizeLimit: most });
      return searchEntries.map(toEntry);
    },
    async *pages(base, condition, attributes) {
      const paged = { pageSize };
      for await (const page of client.searchPaginated(base, { ...options(condition, attributes), paged })) {
        yield page.searchEntries.map(toEntry);
      }
    },
    async has(dn, attribute, value) {
      if (active) {
        // Samba builds a filter from the compared value without escaping, and fails for names with commas.
        const found = await client.search(dn, { ...options({ is: attribute, value }, ['1.1']), scope: 'base' });
        return found.searchEntries.length > 0;
      }
      try {
        return await client.compare(dn, attribute, value);
      } catch (error) {
        const result = codeOf(error);
        // A group without members, or a value that cannot be a name.
        if (result === code.noSuchAttribute || result === code.invalidSyntax) return false;
        throw error;
      }
    },
    async change(dn, attribute, { add, remove }) {
      const change = (operation: 'add' | 'delete', value: string) =>
        new library.Change({ operation, modification: new library.Attribute({ type: attribute, values: [value] }) });
      await client.modify(dn, [
        ...(remove === undefined ? [] : [change('delete', remove)]),
        ...(add === undefined ? [] : [change('add', add)]),
      ]);
    },
    async timeToLive(dn, attribute, value) {
      const control = new library.Control(linkTtl, { critical: true });
      // Many values come in ranges; the name of the last one ends with `-*`.
      for (let from = 0; ; ) {
        const asked = {
          ...options({ filter: '(objectClass=*)' }, [`${attribute};range=${from}-*`]),
          scope: 'base' as const,
        };
        const { searchEntries } = await client.search(dn, asked, control);
        const ranges = Object.entries(searchEntries[0] ?? {}).filter(([name]) => /;range=/i.test(name));
        const [name = '', values = []] = ranges[0] ?? [];
        const listed = [values].flat().map(String);
        for (const one of listed) {
          const [, seconds, named = one] = /^<TTL=(\d+)>,(.*)$/s.exec(one) ?? [];
          if (named.toLowerCase() === value.toLowerCase()) return seconds === undefined ? Infinity : Number(seconds);
        }
        if (listed.length === 0 || name.endsWith('-*')) return null;
        from += listed.length;
      }
    },
    async takesTimeToLive() {
      const root = await read('', ['configurationNamingContext', 'supportedControl']);
      const [context] = root?.texts('configurationNamingContext') ?? [];
      if (context === undefined || !root?.texts('supportedControl').includes(linkTtl)) return false;
      const partitions = await read(`CN=Partitions,${context}`, ['msDS-EnabledFeature']);
      const enabled = partitions?.texts('msDS-EnabledFeature') ?? [];
      return enabled.some((feature) => feature.toLowerCase().startsWith(`cn=${featureName.toLowerCase()},`));
    },
  };
}

function toFilter(library: Library, condition: Condition): InstanceType<Library['Filter']> {
  const { EqualityFilter, SubstringFilter, AndFilter, OrFilter, ExtensibleFilter, FilterParser } = library;
  if ('is' in condition) return new EqualityFilter({ attribute: condition.is, value: condition.value });
  if ('has' in condition) return new SubstringFilter({ attribute: condition.has, any: [condition.text] });
  if ('within' in condition) {
    return new ExtensibleFilter({ rule: inChain, matchType: condition.within, value: condition.value });
  }
  if ('all' in condition) return new AndFilter({ filters: condition.all.map((one) => toFilter(library, one)) });
  if ('any' in condition) return new OrFilter({ filters: condition.any.map((one) => toFilter(library, one)) });
  try {
    return FilterParser.parseString(condition.filter);
  } catch (error) {
    throw new Terminal('people_filter is not an LDAP filter', { cause: error });
  }
}

function toEntry(found: { dn: string; [attribute: string]: unknown }): Entry {
  // Names of attributes are case-insensitive, and a server may return them in another case than requested.
  const values = new Map(Object.entries(found).map(([name, value]) => [name.toLowerCase(), [value].flat()]));
  const of = (attribute: string) => values.get(attribute.toLowerCase()) ?? [];
  return {
    dn: found.dn,
    texts: (attribute) => of(attribute).filter((value) => typeof value === 'string'),
    bytes: (attribute) => of(attribute).filter((value) => Buffer.isBuffer(value)),
  };
}
