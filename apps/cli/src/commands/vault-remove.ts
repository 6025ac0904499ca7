import { CliError } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';

/** `belay vault remove <name>`: forgets a secret; `not_found` when there was none. */
export function addVaultRemove(parent: Parent): void {
  addCommand(parent, {
    name: 'remove <name>',
    here: true,
    description: 'forget the secret path#key (for operators)',
    examples: ['vault remove database#password'],
    run: async ({ args: [name = ''], output, shell }) => {
      if (!(await shell.operator.removeSecret(name))) throw new CliError('not_found', `no secret ${name} is kept here`);
      output.result({ removed: name }, () => `forgot ${name}`);
      return undefined;
    },
  });
}
