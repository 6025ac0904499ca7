import { addCommand, type Parent } from '../command.js';
import type { RunOptions } from '../run/run-with-access.js';

/**
 * Declares the command `belay run`, which runs a command while a role's access is active, and exits with the command's
 * exit code. Access that was requested for a run is given back when the last run that uses it ends (docs/interface.md,
 * section 18).
 */
export function addRun(parent: Parent): void {
  addCommand<RunOptions>(parent, {
    name: 'run [role]',
    description: 'run a command with the access of a role, which is given back when the command ends',
    examples: [
      "run reporting-readonly --for 30m --reason 'month end' -- psql -h db.example.com app",
      'run -- kubectl get pods',
    ],
    values: { role: 'roles', provider: 'providers' },
    options: (command) =>
      command
        // Without `--`, the command's words are excess arguments; the error of `run` explains that better than Commander's.
        .allowExcessArguments()
        .option('--duration, --for <duration>', 'the longest time, for example 30m or PT1H (default: the role’s)')
        .option('--reason <text>', 'the reason, which most roles require')
        .option('--provider <provider...>', 'the providers (default: all of the role’s)')
        .option('--workflow <workflow>', 'one of the role’s workflows (default: its first)')
        .option('--lease <duration>', 'how long the heartbeat may be missing, 30s to 15m (default: 1m)')
        .option('--quiet', 'print no progress and no notice of the end of the access; errors are still printed'),
    // Loaded only here: help starts faster without it.
    run: async (invocation) => (await import('../run/run-with-access.js')).runWithAccess(invocation),
  });
}
