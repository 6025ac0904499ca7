import { printable } from '@belay/contract/printable';
import { addCommand, type Parent } from '../command.js';
import { exitCodes } from '../exit-codes.js';

/** Declares the command `belay validate`, which checks a configuration as a server's start or reload does, without a server. */
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

/** Declares the command `belay schema`, which prints the JSON Schema of configuration files, or of policy cases. */
export function addSchema(parent: Parent): void {
  addCommand<{ cases?: true }>(parent, {
    name: 'schema',
    here: true,
    description: 'print the JSON Schema of configuration files, for editors',
    examples: ['schema > config/.belay.schema.json', 'schema --cases > config/.policy-test.schema.json'],
    options: (command) => command.option('--cases', 'of policy cases (belay test) instead'),
    run: async ({ options, shell }) => {
      shell.stdout.write(await shell.operator.schema(options.cases === true ? 'cases' : 'configuration'));
      return undefined;
    },
  });
}
