import { printable } from '@belay/contract/printable';
import { usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';

/** Declares `belay providers`, which lists the providers that the caller can use, and `belay providers same`. */
export function addProviders(parent: Parent): void {
  addCommand(parent, {
    name: 'list',
    isDefault: true,
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
  addCommand<{ byName?: boolean; reason: string; digest?: string }>(parent, {
    name: 'same <provider>',
    description: 'confirm that a provider leads to the target where its access is held, after an upgrade or a failover',
    examples: [
      "providers same shop --reason 'pg_upgrade to 18'",
      "providers same shop --by-name --reason 'moved with pg_dump'",
    ],
    options: (command) =>
      command
        .requiredOption('--reason <text>', 'the reason, written to the audit log')
        .option('--by-name', 'store the identifiers that the names have now, as after a dump and restore')
        .option('--digest <digest>', 'confirm exactly this, as an earlier call without a terminal has shown it'),
    run: async ({ args: [provider = ''], options, output, connect, interactive, shell: { signal, prompts } }) => {
      const { client } = await connect();
      const shown = await client.admin.getTarget(provider, { signal });
      const table = output.table(
        ['Identity', 'Access', 'Stored', 'Found', 'Granted by Belay'],
        shown.pairs.map(({ identity, access, stored, found, ours }) => [
          printable(identity),
          printable(JSON.stringify(access)),
          printable(JSON.stringify(stored)),
          found === null ? 'no such name' : printable(JSON.stringify(found)),
          ours === null ? 'unknown' : ours ? 'yes' : 'no',
        ]),
        'No access is held',
      );
      output.note(
        `Held at ${shown.held_at.map(printable).join(', ') || 'no target'}; the server now is ${printable(shown.target)}`,
      );
      if (shown.doubt !== null) output.note(`The server ${shown.doubt}`);
      output.note(table);
      for (const sentence of shown.gives_up) output.note(sentence);
      if (options.digest === undefined) {
        if (!interactive) throw usage(`compare the access above, then repeat with --digest ${shown.digest}`);
        if (!(await prompts.confirm('Is this the same target?'))) return undefined;
      }
      const done = await client.admin.confirmTarget(
        {
          provider,
          digest: options.digest ?? shown.digest,
          ...(options.byName === true && { by_name: true }),
          reason: options.reason,
        },
        { signal },
      );
      output.result(done, () => printable(done.message));
      return undefined;
    },
  });
}
