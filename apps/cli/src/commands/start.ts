import { addCommand, type Parent } from '../command.js';

/**
 * Declares the command `belay start`, which runs the server in this process, configured by environment variables (docs/architecture.md,
 * section 11).
 */
export function addStart(parent: Parent): void {
  addCommand(parent, {
    name: 'start',
    here: true,
    description: 'start the server in this process (configured by BELAY_*, PORT, DATABASE_URL and REDIS_URL)',
    examples: ['start'],
    run: async ({ shell }) => {
      await shell.operator.start();
      return undefined;
    },
  });
}
