import { addCommand, type Parent } from '../command.js';
import { exitCodes } from '../exit-codes.js';
import { printable } from '../output/printable.js';

/** Declares the command `belay validate`, which checks a configuration as a start or a reload does, without a server. */
export function addValidate(parent: Parent): void {
  addCommand(parent, {
    name: 'validate [path]',
    here: true,
    description: 'check a configuration file or folder',
    examples: ['validate', 'validate config/ --json'],
    values: { path: 'files' },
    run: async ({ args: [path], output, shell }) => {
      const { ok, source, messages, faults } = await shell.operator.validate(path);
      output.result({ ok, source, messages, faults }, () =>
        [ok ? output.colours.green(`${printable(source)} is valid`) : '', ...messages.map(printable)]
          .filter(Boolean)
          .join('\n'),
      );
      return ok ? exitCodes.ok : exitCodes.failed;
    },
  });
}
