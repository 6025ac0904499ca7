import { addCommand, type Parent } from '../command.js';

interface Options {
  port?: string;
}

/** Declares the command `belay agent run`, which runs the agent in this process until a signal stops it. */
export function addAgentRun(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'run',
    description: 'run the agent in this process until it is stopped (configured by BELAY_SERVER, PORT and BELAY_DATA)',
    examples: ['agent run', 'agent run --url https://belay.example.com --port 8791'],
    options: (command) => command.option('--port <port>', 'the loopback port to listen on'),
    run: async ({ options: { server, port }, shell }) => {
      await shell.agentControl.run({
        ...(server !== undefined && { BELAY_SERVER: server }),
        ...(port !== undefined && { PORT: port }),
      });
      return undefined;
    },
  });
}
