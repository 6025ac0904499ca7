import type { BelayClient, Role } from '@belay/sdk';
import { usage } from '../cli-error.js';
import type { Shell } from '../shell.js';

/** The types of connectors that a program's name stands for. */
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

/** Returns how much a role is: what is granted, then for how long. */
function sizeOf(role: Role): [number, string] {
  return [role.grants.length, role.max_duration];
}

/**
 * Returns the role that the person chooses among those of the systems that a program is for, the least first. Throws
 * `usage` without a terminal to ask at, or the program is not known: a role is never guessed.
 */
export async function chooseRole(
  client: BelayClient,
  shell: Shell,
  { program, interactive }: { program: string; interactive: boolean },
): Promise<string> {
  const types = systems[program.split('/').at(-1) ?? ''] ?? [];
  const [{ providers }, { roles }] = await Promise.all([
    client.providers.list({}, { signal: shell.signal }),
    client.roles.list({}, { signal: shell.signal }),
  ]);
  const there = new Set(providers.filter(({ _source }) => types.includes(_source.provider)).map(({ _id }) => _id));
  const fitting = Object.values(roles)
    .map(({ role }) => role)
    .filter((role) => role.providers.some((provider) => there.has(provider)))
    .sort((one, other) => {
      const [[count, longest], [otherCount, otherLongest]] = [sizeOf(one), sizeOf(other)];
      return count - otherCount || longest.localeCompare(otherLongest) || one.name.localeCompare(other.name);
    });
  if (fitting.length === 0) throw usage(`no role is known for ${program}; name one: belay run <role> -- ${program}`);
  if (!interactive) {
    const names = fitting.map(({ name }) => name).join(', ');
    throw usage(`name the role: belay run <role> -- ${program}; for ${program}: ${names}`);
  }
  return shell.prompts.select(
    `Which role for ${program}? The least first.`,
    fitting.map((role) => ({ value: role.name, label: role.name, hint: role.description })),
  );
}
