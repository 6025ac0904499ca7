import { CliError } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';

/** Declares the command `belay vault remove <name>`, which deletes a secret. Throws `not_found` when it does not exist. */
export function addVaultRemove(parent: Parent): void {
  addCommand(parent, {
    name: 'remove <name>',
    here: true,
    description: 'delete the secret path#key (for operators)',
    examples: ['vault remove database#password'],
    run: async ({ args: [name = ''], output, shell }) => {
      if (!(await shell.operator.removeSecret(name))) throw new CliError('not_found', `secret ${name} does not exist`);
      output.result({ removed: name }, () => `deleted ${name}`);
      return undefined;
    },
  });
}
