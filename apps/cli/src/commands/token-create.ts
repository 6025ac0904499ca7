import { addCommand, type Parent } from '../command.js';

interface Options {
  user: string;
  ttl: string;
  group?: string[];
  label?: string;
}

/**
 * `belay token create`: a bearer token for automation, made by whoever can reach the server's own database and secret.
 * Audited there. The token is printed once, alone on standard output, and kept nowhere.
 */
export function addTokenCreate(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'create',
    here: true,
    description: 'make a bearer token (for operators, on the server’s machine)',
    examples: ['token create --user bot@example.com --ttl PT8H --group robots --label nightly'],
    options: (command) =>
      command
        .requiredOption('--user <email>', 'whom it stands for')
        .requiredOption('--ttl <duration>', 'how long it is good for, as in PT8H')
        .option('--group <group...>', 'the groups it carries')
        .option('--label <text>', 'what it is for, as the ledger will say'),
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
