import { addCommand, type Parent } from '../command.js';

interface Options {
  name: string;
  ttl: string;
}

/**
 * Declares the command `belay agent enroll`, which prints the credential that an agent registers with, made with access
 * to the server's own database and secret, and recorded in its audit log. It is printed once, alone on standard output;
 * enrolling a name again voids its old one.
 */
export function addAgentEnroll(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'enroll',
    here: true,
    description: 'create a one-time credential for an agent (for operators, on the server’s machine)',
    examples: ['agent enroll --name build-3 --ttl P90D'],
    options: (command) =>
      command
        .requiredOption('--name <name>', 'the name of the agent')
        .requiredOption('--ttl <duration>', 'how long the credential is valid, for example P90D'),
    run: async ({ options: { name, ttl }, output, shell }) => {
      const enrolled = await shell.operator.enrollAgent({ name, ttl });
      output.result(enrolled, () => enrolled.credential);
      output.note(`for the agent ${enrolled.agent.name}, until ${enrolled.expires_at}; it is not shown again`);
      return undefined;
    },
  });
}
