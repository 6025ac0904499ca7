import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeServiceHere } from '../agent/describe-here.js';
import { CliError } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';

interface Options {
  port?: string;
  print?: boolean;
  force?: boolean;
}

/** Declares the command `belay agent install`, which installs the agent as a service of the user (systemd, launchd). Does not start it. */
export function addAgentInstall(parent: Parent): void {
  addCommand<Options>(parent, {
    name: 'install',
    description: 'install the agent as a service of your user (systemd or launchd), and print how to start it',
    examples: ['agent install --print', 'agent install', 'agent install --url https://belay.example.com --port 8791'],
    options: (command) =>
      command
        .option('--port <port>', 'the loopback port to listen on')
        .option('--print', 'print the service file without writing it')
        .option('--force', 'replace an existing service file that has different content'),
    run: async ({ options: { server, port, print, force }, output, shell }) => {
      const service = await describeServiceHere(shell, { server, port });
      const { file, text, start } = service;
      if (print === true) {
        output.result({ file, text, start, written: false }, () => text.trimEnd());
        output.note(`would be written to ${file}`);
        return undefined;
      }
      const before = await readFile(file, 'utf8').catch(() => undefined);
      if (before !== undefined && before !== text && force !== true) {
        throw new CliError(
          'conflict',
          `${file} already exists with different content; review it, then use --force to replace it`,
        );
      }
      const { dataDirectory, enrolled } = await shell.agentControl.status();
      // The unit can write to this folder only, so it must exist before the start.
      await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
      await mkdir(path.dirname(file), { recursive: true });
      await writeFile(file, text, { mode: 0o644 });
      output.result({ file, text, start, written: true }, () => `wrote ${file}`);
      if (!enrolled) output.note('this machine is not enrolled; first run: belay agent join --url <server>');
      output.note(`start it with:\n${start.map((line) => `  ${line}`).join('\n')}`);
      return undefined;
    },
  });
}
