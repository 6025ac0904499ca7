import { usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';

interface Options {
  name?: string;
}

/**
 * Declares the command `belay agent join`, which enrols this machine with the credential that `belay agent enroll` made
 * at the server. It comes from standard input or from a hidden prompt.
 */
export function addAgentJoin(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'join',
    description: 'enrol this machine with a server; reads the credential of `agent enroll` from standard input',
    examples: ['agent join --url https://belay.example.com', 'agent join --url https://belay.example.com < credential'],
    options: (command) => command.option('--name <name>', 'the name of this machine (default: its host name)'),
    run: async ({ options, output, interactive, shell }) => {
      const server = options.server ?? shell.server ?? shell.host.variables.BELAY_SERVER;
      if (server === undefined) throw usage('--url is required, for example --url https://belay.example.com');
      const given = interactive ? await shell.prompts.secret('Credential') : await shell.readInput();
      const joined = await shell.agentControl.join({
        server,
        credential: given.trim(),
        name: options.name,
        signal: shell.signal,
      });
      output.result(joined, () =>
        output.fields({
          server: joined.server,
          name: joined.name,
          configuration: joined.catalog_version,
          next: 'belay agent install, or belay agent run',
        }),
      );
      return undefined;
    },
  });
}
