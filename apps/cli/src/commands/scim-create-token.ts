import { addCommand, type Parent } from '../command.js';

interface Options {
  provider: string;
  ttl: string;
}

/**
 * Declares the command `belay scim create-token`, which prints the bearer token with which the directory of a provider
 * provisions people, made with access to the server's own database, and recorded in its audit log. The token is printed
 * once, alone on standard output, and kept nowhere.
 */
export function addScimCreateToken(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'create-token',
    here: true,
    description: 'create the SCIM token of a directory (for operators, on the server’s machine)',
    examples: ['scim create-token --provider okta --ttl P180D'],
    options: (command) =>
      command
        .requiredOption('--provider <name>', 'the sign-in provider whose people the directory provisions')
        .requiredOption('--ttl <duration>', 'how long the token is valid, for example P180D'),
    run: async ({ options: { provider, ttl }, output, shell }) => {
      const created = await shell.operator.createScimToken({ provider, ttl });
      output.result(created, () => created.token);
      output.note(`${created.id} for ${created.provider}, until ${created.expires_at}; it is not shown again`);
      return undefined;
    },
  });
}
