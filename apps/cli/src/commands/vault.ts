import { CliError } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';

/**
 * Declares the command `belay vault set <name>`, which stores a secret that the configuration can refer to. It reads the value from
 * standard input or a hidden prompt: other programs of the machine can read arguments, and the shell history keeps them.
 */
export function addVaultSet(parent: Parent): void {
  addCommand(parent, {
    name: 'set <name>',
    here: true,
    description: 'store a secret as path#key; reads its value from standard input (for operators)',
    examples: ['vault set database#password', 'vault set database#password < password.txt'],
    run: async ({ args: [name = ''], output, interactive, shell }) => {
      const value = interactive ? await shell.prompts.secret(`Value of ${name}`) : await shell.readInput();
      // A file or `echo` ends with a line break that is not part of the value.
      const kept = await shell.operator.setSecret(name, value.replace(/\r?\n$/, ''));
      output.result(kept, () => `stored; refer to it as \${vault:${kept.path}#${kept.key}}`);
      return undefined;
    },
  });
}

/** Declares the command `belay vault list`, which lists the names of the stored secrets, without their values. */
export function addVaultList(parent: Parent): void {
  addCommand(parent, {
    name: 'list',
    here: true,
    description: 'list the names of the stored secrets (for operators)',
    examples: ['vault', 'vault list --json'],
    items: ({ secrets }) => secrets,
    isDefault: true,
    run: async ({ output, shell }) => {
      const secrets = await shell.operator.listSecrets();
      output.result({ secrets }, () =>
        output.table(
          ['Path', 'Key', 'Reference'],
          secrets.map(({ path, key }) => [path, key, `\${vault:${path}#${key}}`]),
          'No stored secrets',
        ),
      );
      return undefined;
    },
  });
}

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
