import { addCommand, type Parent } from '../command.js';

/**
 * Declares the command `belay vault set <name>`, which stores a secret that the configuration can refer to. Reads the value from standard input or from
 * a hidden prompt: other programs of the machine can read arguments, and the shell history keeps them.
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
