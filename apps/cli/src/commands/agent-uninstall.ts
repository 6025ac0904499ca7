import { rm } from 'node:fs/promises';
import { describeServiceHere } from '../agent/describe-here.js';
import { CliError } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';

/** Declares the command `belay agent uninstall`, which removes the service; the agent's data stays. */
export function addAgentUninstall(parent: Parent): void {
  addCommand(parent, {
    name: 'uninstall',
    here: true,
    description: 'remove the agent’s service; its sessions and its enrolment stay',
    examples: ['agent uninstall'],
    run: async ({ output, shell }) => {
      const { file, stop } = await describeServiceHere(shell, {});
      await rm(file).catch((cause: NodeJS.ErrnoException) => {
        if (cause.code === 'ENOENT') throw new CliError('not_found', `${file} does not exist`);
        throw new CliError('failed', `${file} cannot be removed (${cause.code})`, { cause });
      });
      output.result({ file, stop, removed: true }, () => `removed ${file}`);
      output.note(`stop it with:\n${stop.map((line) => `  ${line}`).join('\n')}`);
      return undefined;
    },
  });
}
