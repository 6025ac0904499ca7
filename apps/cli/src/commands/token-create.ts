import { addCommand, type Parent } from '../command.js';

interface Options {
  user: string;
  ttl: string;
  group?: string[];
  label?: string;
}

/**
 * Declares the command `belay token create`, which prints a bearer token for automation, made with access to the
 * server's own database and secret, and recorded in its audit log. The token is printed once, alone on standard output,
 * and kept nowhere.
 */
export function addTokenCreate(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'create',
    here: true,
    description: 'create a bearer token (for operators, on the server’s machine)',
    examples: ['token create --user bot@example.com --ttl PT8H --group robots --label nightly'],
    options: (command) =>
      command
        .requiredOption('--user <email>', 'the person that the token acts as')
        .requiredOption('--ttl <duration>', 'how long the token is valid, for example PT8H')
        .option('--group <group...>', 'the groups of the token')
        .option('--label <text>', 'a description for the audit log'),
    run: async ({ options: { user, ttl, group, label }, output, shell }) => {
      const created = await shell.operator.createToken({
        user,
        ttl,
        ...(group && { groups: group }),
        ...(label && { label }),
      });
      output.result(created, () => created.token);
      output.note(`for ${created.user.email}, until ${created.expires_at}; it is not shown again`);
      return undefined;
    },
  });
}
