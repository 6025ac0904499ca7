import { addCommand, type Parent } from '../command.js';

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
