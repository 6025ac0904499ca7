import { addCommand, type Parent } from '../command.js';

/**
 * `belay vault set <name>`: keeps a secret for the configuration to refer to. The value comes from standard input, or is
 * asked for without showing it: an argument could be read by every program of this machine, and stays in the history.
 */
export function addVaultSet(parent: Parent): void {
  addCommand(parent, {
    name: 'set <name>',
    here: true,
    description: 'store a secret as path#key; reads its value from standard input (for operators)',
    examples: ['vault set database#password', 'vault set database#password < password.txt'],
    run: async ({ args: [name = ''], output, interactive, shell }) => {
      const value = interactive ? await shell.prompts.secret(`Value of ${name}`) : await shell.readInput();
      // A file or an echo ends with a line break that nobody means.
      const kept = await shell.operator.setSecret(name, value.replace(/\r?\n$/, ''));
      output.result(kept, () => `stored; refer to it as \${vault:${kept.path}#${kept.key}}`);
      return undefined;
    },
  });
}
