import { addCommand, type Parent } from '../command.js';

/** Declares the command `belay vault list`, which lists the names of the stored secrets, never a value. */
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
