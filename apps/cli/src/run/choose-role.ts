import type { BelayClient, Role } from '@belay/sdk';
import { CliError, usage } from '../cli-error.js';
import { readDuration } from '../duration.js';
import type { Shell } from '../shell.js';

/** The connector types that each program works with. */
const systems: Readonly<Record<string, readonly string[]>> = {
  psql: ['postgres'],
  pg_dump: ['postgres'],
  pg_restore: ['postgres'],
  mysql: ['mysql'],
  mysqldump: ['mysql'],
  kubectl: ['kubernetes'],
  helm: ['kubernetes'],
  k9s: ['kubernetes'],
  aws: ['aws'],
  gcloud: ['gcp'],
  bq: ['gcp'],
  gsutil: ['gcp'],
  az: ['azure'],
  gh: ['github'],
  vault: ['hashicorp'],
};

/** The options that name the system that a program works on, or a part of it. */
const places =
  /^(?:-h|--host|-d|--dbname|-D|--database|--context|--cluster|-n|--namespace|--profile|--project|--subscription)$/;

/** Returns the words of a command that name its system: the values of the options in `places`, and for databases an address or a name. */
export function readPlaces([program = '', ...args]: readonly string[]): string[] {
  const found: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const [word = '', next = ''] = args.slice(at);
    const [, name = word, value] = /^(--[a-z]+)=(.*)$/.exec(word) ?? [];
    if (places.test(name)) {
      found.push(value ?? next);
      if (value === undefined) at += 1;
    } else if (/^postgres(ql)?:\/\//.test(word) && URL.canParse(word)) {
      const { hostname, pathname } = new URL(word);
      found.push(hostname, decodeURIComponent(pathname.slice(1)));
    } else if (/=/.test(word) && program.endsWith('psql')) {
      found.push(...[...word.matchAll(/\b(?:host|dbname)=(\S+)/g)].map(([, text = '']) => text));
    } else if (!word.startsWith('-') && /(psql|mysql)$/.test(program) && !args[at - 1]?.startsWith('-')) {
      found.push(word);
    }
  }
  return found.filter((text) => text.length > 1 && text !== 'localhost');
}

/** Returns which of the places a role mentions in its name, description, providers or grants. */
function spokenOf(role: Role, wanted: readonly string[]): string[] {
  const said = JSON.stringify([role.name, role.description, role.providers, role.grants]).toLowerCase();
  const words = new Set(said.split(/[^a-z0-9]+/));
  return wanted.filter((place) => {
    const [first = ''] = place.toLowerCase().split('.');
    return said.includes(place.toLowerCase()) || words.has(first);
  });
}

interface Fitting {
  role: Role;
  places: readonly string[];
}

/** Orders roles: first those that mention more of the places, then those with fewer grants, then those with a shorter duration. */
function compare(one: Fitting, other: Fitting): number {
  const longest = ({ role }: Fitting) => readDuration(role.max_duration) ?? Number.POSITIVE_INFINITY;
  return (
    other.places.length - one.places.length ||
    one.role.grants.length - other.role.grants.length ||
    longest(one) - longest(other) ||
    one.role.name.localeCompare(other.role.name)
  );
}

/**
 * Returns the roles for the systems that a command works on, the least powerful for its target first, and why that one is first. A role for
 * emergencies is never included: its use notifies other people, so a person has to choose it by name.
 */
export function proposeRoles(
  command: readonly string[],
  { providers, roles }: { providers: readonly { id: string; type: string }[]; roles: readonly Role[] },
): { fitting: Role[]; why: string } {
  const program = nameOf(command);
  const types = systems[program] ?? [];
  const there = new Set(providers.filter(({ type }) => types.includes(type)).map(({ id }) => id));
  const wanted = readPlaces(command);
  const fitting = roles
    .filter(({ break_glass }) => break_glass !== true)
    .map((role) => ({ role, places: spokenOf(role, wanted) }))
    .filter(({ role }) => role.providers.some((provider) => there.has(provider)))
    .sort(compare);
  const places = fitting[0]?.places ?? [];
  return {
    fitting: fitting.map(({ role }) => role),
    why: places.length > 0 ? `the least for ${places.join(' and ')}` : `the least for ${program}`,
  };
}

/** Returns the names of the first roles and the number of the others, for an error of one line. */
export function nameSome(roles: readonly Pick<Role, 'name'>[], most = 5): string {
  const names = roles.slice(0, most).map(({ name }) => name);
  const more = roles.length - names.length;
  return more > 0 ? `${names.join(', ')} and ${more} more (see: belay roles)` : names.join(', ');
}

function nameOf([program = '']: readonly string[]): string {
  return program.split('/').at(-1) ?? '';
}

/**
 * Proposes the least powerful role for a command's target, with the reason. Returns the role that the person confirms
 * or selects: Belay never chooses a role for a person. Throws `usage` when no role is known, and, with the proposal,
 * when there is no terminal. Throws `aborted` when the person rejects the only role.
 */
export async function chooseRole(
  client: BelayClient,
  shell: Shell,
  { command, interactive }: { command: readonly string[]; interactive: boolean },
): Promise<string> {
  const [{ providers }, { roles }] = await Promise.all([
    client.providers.list({}, { signal: shell.signal }),
    client.roles.list({}, { signal: shell.signal }),
  ]);
  const { fitting, why } = proposeRoles(command, {
    providers: providers.map(({ _id, _source }) => ({ id: _id, type: _source.provider })),
    roles: Object.values(roles).map(({ role }) => role),
  });
  const program = nameOf(command);
  const [least] = fitting;
  if (least === undefined) throw usage(`no role is known for ${program}; name one: belay run <role> -- ${program}`);
  if (!interactive) {
    const names = nameSome(fitting);
    throw usage(`name the role: belay run ${least.name} -- ${program} …, which is ${why}; for ${program}: ${names}`);
  }
  if (await shell.prompts.confirm(`Use ${least.name}: ${least.description}? It is ${why}.`)) return least.name;
  if (fitting.length === 1) throw new CliError('aborted', 'no role chosen; nothing was sent');
  return shell.prompts.select(
    `Which role for ${program}? The least first.`,
    fitting.map((role) => ({ value: role.name, label: role.name, hint: role.description })),
  );
}
