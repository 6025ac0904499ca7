import { addCommand, type Parent } from '../command.js';

/** Declares the command `belay providers`, which lists the providers that the caller can use. */
export function addProviders(parent: Parent): void {
  addCommand(parent, {
    name: 'providers',
    description: 'list the providers that you can use',
    examples: ['providers', 'providers --json'],
    items: ({ providers }) =>
      (providers as { _id: string; _source: object }[]).map(({ _id, _source }) => ({ _id, ..._source })),
    run: async ({ output, connect, shell: { signal } }) => {
      const { client } = await connect('any');
      const list = await client.providers.list({}, { signal });
      output.result(list, () =>
        output.table(
          ['Provider', 'Type', 'Can', 'Description'],
          list.providers.map(({ _id, _source: { provider, capabilities, description } }) => [
            _id,
            provider,
            capabilities.join(', '),
            description,
          ]),
          'No providers that you can use',
        ),
      );
      return undefined;
    },
  });
}
