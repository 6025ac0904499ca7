import { printable } from '@belay/contract/printable';
import { usage } from '../cli-error.js';
import { addCommand, type Invocation, type Parent } from '../command.js';
import type { Beginning } from '../shell.js';

interface Options {
  idp?: string;
  system?: string;
  domain?: string;
  messages?: string;
}

/** Declares the command `belay init`, which writes the files of a new configuration. */
export function addInit(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'init [folder]',
    here: true,
    description: 'write a new configuration (config/ unless named)',
    examples: ['init', 'init --idp okta --system postgres --domain example.com', 'init config --messages slack'],
    values: { folder: 'files' },
    options: (command) =>
      command
        .option(
          '--idp <name>',
          'the identity provider, such as okta, entra, entra-oidc, google, keycloak, github, authentik or oidc',
        )
        .option('--system <type>', 'the first system where access is held, such as postgres or kubernetes')
        .option('--domain <domain>', "the domain of people's e-mail addresses")
        .option('--messages <type>', 'deliver messages as well: slack, email or webhook'),
    run: async (invocation) => {
      const { args, output, shell } = invocation;
      const [folder = 'config'] = args;
      const files = await shell.operator.init(folder, await begin(invocation));
      const next = describeNext(folder);
      output.result({ folder, files, next }, () =>
        [
          `${printable(folder)}/ has ${files.length} files: ${files.map(printable).join(', ')}`,
          '',
          'Next:',
          ...next.map((line) => `  ${printable(line)}`),
        ].join('\n'),
      );
      return undefined;
    },
  });
}

async function begin({ options, interactive, shell }: Invocation<Options>): Promise<Beginning> {
  const { idp, system, domain, messages } = options;
  if (idp !== undefined && system !== undefined && domain !== undefined) {
    return { identityProvider: idp, system, domain, messages };
  }
  if (!interactive) throw usage('name --idp, --system and --domain, or run belay init at a terminal');
  const known = await shell.operator.blueprints();
  const choices = (kind: keyof typeof known) =>
    known[kind].map(({ name, label }) => ({ value: name, label, hint: name }));
  const { prompts } = shell;
  return {
    identityProvider: idp ?? (await prompts.select('Where do people sign in?', choices('identityProviders'))),
    system: system ?? (await prompts.select('Where is access held?', choices('systems'))),
    domain: domain ?? (await prompts.text("Which domain do people's addresses have?", { check: checkDomain })),
    messages,
  };
}

function checkDomain(text: string): string | undefined {
  return text.includes('.') ? undefined : 'A domain is needed, for example example.com.';
}

/**
 * Returns the three command lines with which a person sets the variables, checks the new configuration and starts a
 * server.
 */
function describeNext(folder: string): string[] {
  const quoted = /^[\w./-]+$/.test(folder) ? folder : `'${folder.replaceAll("'", "'\\''")}'`;
  return [
    `cp ${quoted}/.env.example ${quoted}/.env   # and set the variables in it`,
    `set -a; . ${quoted}/.env; set +a; belay validate ${quoted}`,
    `BELAY_CONFIG=${quoted} belay start`,
  ];
}
