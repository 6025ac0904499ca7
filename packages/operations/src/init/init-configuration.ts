import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StartError } from '@belay/program';
import { emailDomain } from '@belay/providers';
import { writeConfigurationSchema } from '../config/write-schema.js';
import { type Blueprint, identityProviders } from './sign-in.js';
import { messengers, type SystemBlueprint, systems } from './systems.js';

/** The choices for `belay init`. */
export interface Beginning {
  identityProvider: string;
  system: string;
  /** The domain of people's email addresses. */
  domain: string;
  /** A type of provider that delivers messages; no messages when undefined. */
  messages?: string | undefined;
}

const firstLine = '# yaml-language-server: $schema=.belay.schema.json';

/** Returns the available choices, by kind. */
export function listBlueprints() {
  const list = (kind: Readonly<Record<string, { label: string }>>) =>
    Object.entries(kind).map(([name, { label }]) => ({ name, label }));
  return { identityProviders: list(identityProviders), systems: list(systems), messengers: list(messengers) };
}

/**
 * Writes a new configuration into a folder that does not exist or is empty, and returns the names of its files. Secrets are references to
 * variables. Throws `StartError` for a choice that does not exist, and for a folder that is not empty; nothing is overwritten.
 */
export async function initConfiguration(folder: string, beginning: Beginning): Promise<string[]> {
  const files = makeFiles(beginning);
  const before = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new StartError(`${folder}: cannot be used as a folder; name another`, { cause: error });
  });
  if (before.length > 0)
    throw new StartError(`${folder}: is not empty; name a new folder, because nothing is overwritten`);
  await mkdir(folder, { recursive: true });
  for (const [name, text] of files) await writeFile(join(folder, name), text, { flag: 'wx' });
  return [...files.keys()];
}

/** Returns the text of each file, by name. */
function makeFiles({ identityProvider, system, domain, messages }: Beginning): Map<string, string> {
  if (!emailDomain.safeParse(domain).success)
    throw new StartError(`domain: ${JSON.stringify(domain)} is not a domain, for example example.com`);
  const login = choose('identity provider', identityProviders, identityProvider);
  const held = choose('system', systems, system);
  const told = messages === undefined ? undefined : choose('type of messages', messengers, messages);
  const files = new Map([
    ['sign-in.yaml', signIn(login, domain)],
    [`${system}.yaml`, heldAt(`${system}-access`, held, domain)],
    ['workflows.yaml', workflows(domain)],
  ]);
  if (told)
    files.set(
      'messages.yaml',
      `${firstLine}\n# Notifications outside of Belay: docs/guides/notifications.md.\n\nproviders:\n  messages:\n${indent(told.provider(domain), 4)}\n\nmessages:\n  channels: [messages]\n`,
    );
  files.set('.env.example', environment({ ...login.variables, ...held.variables, ...told?.variables }));
  files.set('.gitignore', '.env\n');
  files.set('.belay.schema.json', writeConfigurationSchema());
  return files;
}

function choose<T>(what: string, kinds: Readonly<Record<string, T>>, name: string): T {
  const chosen = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (chosen !== undefined) return chosen;
  throw new StartError(`${JSON.stringify(name)} is not a known ${what}; available: ${Object.keys(kinds).join(', ')}`);
}

function indent(text: string, by: number): string {
  return text.replace(/^(?=.)/gm, ' '.repeat(by));
}

function signIn(login: Blueprint, domain: string): string {
  return `${firstLine}
# Where people sign in: docs/guides/sign-in.md.

providers:
  login:
${indent(login.provider(domain), 4)}

# Who sees every request and all access, and may revoke it. Without it no one does.
access:
  administrators:
    users: [administrator@${domain}]
`;
}

function heldAt(name: string, { provider, role }: SystemBlueprint, domain: string): string {
  const resources = role.resources === undefined ? '' : `    resources:\n      allow: [${role.resources}]\n`;
  return `${firstLine}
# Where access is held, and what people can request: docs/connectors.

providers:
  ${name}:
${indent(provider(domain), 4)}

roles:
  # Change the name, the description and what the role inherits at the system.
  first-role:
    description: Read-only access for a time
    providers: [${name}]
    inherits: [${JSON.stringify(`${name}:${role.inherits}`)}]
${resources}    workflows: [approve-and-grant]
    default_duration: PT1H
    max_duration: PT4H
    reason:
      required: true
`;
}

function environment(variables: Readonly<Record<string, string>>): string {
  const lines = Object.entries(variables).map(([name, where]) => `# ${where}\n${name}=\n`);
  return `# The variables of this configuration. Copy the file to .env, set them, and load them before you start Belay:\n#   set -a; . ./.env; set +a\n# Put each value in single quotes: without them $, & and spaces mean something else. Keep .env out of version control.\n\n${lines.join('\n')}\n${ofTheProcess}`;
}

/** The settings of a process besides the configuration; all of them may stay commented out for a trial on one machine. */
const ofTheProcess = `# For more than a trial: the address that people open, a PostgreSQL of Belay's own (without it one is started in .belay/), and key
# material, the same in every process, for example from: openssl rand -base64 32
# BELAY_BASE_URL=https://belay.example.com
# DATABASE_URL=postgres://belay:<password>@<host>:5432/belay
# BELAY_SECRET=
`;

function workflows(domain: string): string {
  return `${firstLine}
# What happens to a request: docs/guides/workflow-authors.md.

workflows:
  approve-and-grant:
    description: One approval by another person, then access for the requested time
    workflow:
      document: {dsl: 1.0.3, namespace: belay, name: approve-and-grant, version: 1.0.0}
      do:
        - validate:
            call: access.validate
        - approve:
            call: access.approve
            with:
              stages:
                - approvers:
                    groups: [approvers]
                    users: [administrator@${domain}]
                  count: 1
                  timeout: PT4H
        - decide:
            switch:
              - approved: {when: "\${ .approved == true }", then: grant}
              - denied: {then: end}
        - grant:
            call: access.grant
        - hold:
            call: access.hold
`;
}
