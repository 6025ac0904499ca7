import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describeServiceHere } from '../agent/describe-here.js';
import { CliError, usage } from '../cli-error.js';
import { addCommand, type Parent } from '../command.js';
import { describeTimeLeft } from '../duration.js';
import { exitCodes } from '../exit-codes.js';

interface RunOptions {
  port?: string;
}

/** Declares the command `belay agent run`, which runs the agent in this process until a signal stops it. */
export function addAgentRun(parent: Parent): void {
  addCommand<RunOptions>(parent, {
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

/** Declares the command `belay agent status`, which shows the agent of this machine; exits with 7 when none runs. */
export function addAgentStatus(parent: Parent): void {
  addCommand(parent, {
    name: 'status',
    description: 'show the agent of this machine: health, version, age of its configuration, sessions',
    examples: ['agent status', 'agent status --json'],
    run: async ({ options, output, shell }) => {
      const { dataDirectory, pid, url, server, name, enrolled } = await shell.agentControl.status();
      const at = options.server ?? url ?? shell.agent;
      // Loaded only here: help starts faster without it.
      const { askAgent } = await import('../agent/ask-agent.js');
      const answer = at === undefined ? undefined : await askAgent(at, shell.signal);
      const status = {
        running: answer !== undefined,
        url: answer === undefined ? null : (at ?? null),
        pid: pid ?? null,
        enrolled,
        server: server ?? null,
        name: name ?? null,
        data_directory: dataDirectory,
        answer: answer ?? null,
      };
      output.result(status, () => {
        const trouble = Object.entries(answer?.services ?? {}).filter(([, state]) =>
          /^(degraded|unhealthy)/.test(state),
        );
        const sessions = Object.entries(answer?.sessions ?? {}).map(
          ([provider, { version, expiry }]) =>
            `${provider} (version ${version}, ${describeTimeLeft(expiry, shell.clock())} left)`,
        );
        return output.fields({
          agent: answer === undefined ? 'not running' : `${answer.status}, at ${at}`,
          version: answer?.version,
          process: pid,
          enrolled: enrolled ? `with ${server} as ${name}` : 'no',
          configuration: answer?.configuration && `${answer.configuration.version}, ${answer.configuration.age} old`,
          server: answer?.configuration?.server,
          clock: answer?.clock,
          trouble: trouble.map(([service, state]) => `${service}: ${state}`).join('; '),
          sessions: answer && (sessions.join(', ') || 'none'),
          'data folder': dataDirectory,
        });
      });
      if (answer === undefined) {
        output.note(
          enrolled ? 'start it with: belay agent run, or belay agent install' : 'first run: belay agent join',
        );
      }
      return answer === undefined ? exitCodes.unavailable : exitCodes.ok;
    },
  });
}

interface JoinOptions {
  name?: string;
}

/**
 * Declares the command `belay agent join`, which enrols this machine with the credential that `belay agent enroll` created at the server.
 * It reads the credential from standard input or from a hidden prompt.
 */
export function addAgentJoin(parent: Parent): void {
  addCommand<JoinOptions>(parent, {
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

interface InstallOptions {
  port?: string;
  print?: boolean;
  force?: boolean;
}

/** Declares the command `belay agent install`, which installs the agent as a service of the user (systemd, launchd) without starting it. */
export function addAgentInstall(parent: Parent): void {
  addCommand<InstallOptions>(parent, {
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
      // The service can write to this folder only, so it must exist before the start.
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

/** Declares the command `belay agent uninstall`, which removes the service; the agent's data stays. */
export function addAgentUninstall(parent: Parent): void {
  addCommand(parent, {
    name: 'uninstall',
    here: true,
    description: 'remove the agent’s service; its sessions and its enrolment stay',
    examples: ['agent uninstall'],
    run: async ({ output, shell }) => {
      const { file, links, stop } = await describeServiceHere(shell, {});
      await removeFile(file);
      for (const link of links) await removeFile(link, { force: true });
      output.result({ file, stop, removed: true }, () => `removed ${file}`);
      output.note(`stop it with:\n${stop.map((line) => `  ${line}`).join('\n')}`);
      return undefined;
    },
  });
}

/** Throws `not_found` when the file does not exist, unless `force` is true. */
async function removeFile(file: string, { force = false } = {}): Promise<void> {
  await rm(file, { force }).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') throw new CliError('not_found', `${file} does not exist`);
    throw new CliError('failed', `${file} cannot be removed (${cause.code})`, { cause });
  });
}

interface EnrollOptions {
  name: string;
  ttl: string;
}

/**
 * Declares the command `belay agent enroll`, which creates the credential that an agent registers with. It needs the
 * server's own database, and is recorded in the audit log. The credential is printed once, alone on standard output;
 * enrolling a name again makes the earlier credential invalid.
 */
export function addAgentEnroll(parent: Parent): void {
  addCommand<EnrollOptions>(parent, {
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
