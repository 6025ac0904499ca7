import { type BelayClient, type Connections, isBelayError, type Run, type RunEnd, type RunRequest } from '@belay/sdk';
import { CliError, usage } from '../cli-error.js';
import type { CommonOptions, Invocation } from '../command.js';
import { readDuration, toDuration } from '../duration.js';
import { createProgress } from '../output/progress.js';
import { within } from '../within.js';
import { keepBeating } from './beat.js';
import { chooseRole } from './choose-role.js';
import { type Surroundings, surround } from './surround.js';
import { isAway, waitUntilActive } from './wait-until-active.js';
import { warnBeforeEnd } from './warn-before-end.js';

/** The options of `belay run`. */
export interface RunOptions {
  for?: string;
  reason?: string;
  provider?: string[];
  workflow?: string;
  lease?: string;
  quiet?: boolean;
}

/** Throws `usage` for a duration that cannot be read or is zero, before anything is requested. */
function checkDuration(name: string, given: string | undefined): void {
  if (given === undefined || (readDuration(given) ?? 0) > 0) return;
  throw usage(`--${name} is not a valid duration, for example 30m or PT30M`);
}

/** Starts the run. Prompts for the reason when it is missing and the server requires one. */
async function start(
  client: BelayClient,
  role: string,
  { options, interactive, shell: { signal, prompts } }: Invocation<RunOptions & CommonOptions>,
): Promise<Run> {
  const request: RunRequest = {
    role,
    ...(options.for && { duration: toDuration(options.for) }),
    ...(options.reason && { reason: options.reason }),
    ...(options.provider && { providers: options.provider }),
    ...(options.workflow && { workflow: options.workflow }),
    ...(options.lease && { lease: toDuration(options.lease) }),
  };
  try {
    return await client.runs.start(request, { signal });
  } catch (error) {
    const lacks = isBelayError(error, 'invalid') && error.issues?.some(({ path }) => path === 'reason');
    if (!lacks || !interactive || options.reason !== undefined) throw error;
    return client.runs.start({ ...request, reason: await prompts.text('Reason?') }, { signal });
  }
}

const outcomes: Record<RunEnd['outcome'], string> = {
  given_back: 'the access is given back',
  in_use: 'the access stays: another belay run uses it',
  left: 'the access stays until its time is over: it was requested before this run',
};

/** The pause before the server is told again that the command has ended, in milliseconds. */
const pause = 1_000;

/**
 * Ends the run. While the server does not respond, tries again until the time limit or until the signal aborts. When that fails, the access
 * ends with the lease of the run.
 */
async function end(
  run: Run,
  { connect, output, options, shell }: Invocation<RunOptions & CommonOptions>,
  signal: AbortSignal,
): Promise<void> {
  const limit = within(signal, shell.patience);
  let told = false;
  do {
    try {
      const { client } = await connect();
      const { outcome } = await client.runs.end(run.run_id, { signal: limit });
      if (!options.quiet) output.note(outcomes[outcome]);
      return;
    } catch (error) {
      if (!isAway(error)) break;
      if (!told) output.notice('belay: the server does not respond; giving the access back is tried again');
      told = true;
      await shell.delay(pause, limit).catch(() => {});
    }
  } while (!limit.aborted);
  output.notice(
    `the server could not be told that the command ended; the access ends without a heartbeat for ${run.lease}`,
  );
}

/** Returns what tells the command where the systems are. Empty when the server cannot provide it. */
async function readEnvironment(
  client: BelayClient,
  run: Run,
  { output, shell }: Invocation<RunOptions & CommonOptions>,
  signal: AbortSignal,
): Promise<Surroundings> {
  let connections: Connections['connections'] = [];
  try {
    ({ connections } = await client.access.connection(run.execution_id, { signal }));
  } catch {
    if (!signal.aborted)
      output.notice('belay: the server could not say where the systems are; the command runs without their variables');
  }
  return surround(connections, { host: shell.host, say: (text) => output.notice(`belay: ${text}`) });
}

/** Waits for the access, runs the command, and returns its exit code. The command receives the signals that this process receives. */
async function use(
  run: Run,
  [command = '', ...args]: readonly string[],
  invocation: Invocation<RunOptions & CommonOptions>,
  signals: Signals,
): Promise<number> {
  const { output, options, shell, connect } = invocation;
  const stopping = new AbortController();
  const interrupted = new AbortController();
  signals.listener = () => interrupted.abort();
  using progress = createProgress(shell.stderr, output, shell.animated);
  let warning: Promise<void> | undefined;
  const beating = keepBeating(shell, {
    client: async () => (await connect()).client,
    run,
    say: (text) => output.notice(`belay: ${text}`),
    signal: stopping.signal,
  });
  try {
    const { client } = await connect();
    const { signal } = interrupted;
    const stopped = (error?: unknown) => {
      if (signal.aborted) throw new CliError('aborted', 'stopped before the access was active');
      if (error !== undefined) throw error;
    };
    const { clock, delay } = shell;
    const waiting = { say: (text: string) => options.quiet || progress.say(text), clock, delay, signal };
    await waitUntilActive(client, run.execution_id, waiting).catch(stopped);
    progress.clear();
    await using environment = await readEnvironment(client, run, invocation, signal);
    // A signal that arrived before the command started stops the run.
    stopped();
    const program = shell.programs.start(command, args, environment.variables);
    signals.listener = (received) => program.signal(received);
    if (!options.quiet) {
      warning = warnBeforeEnd(shell, {
        client: async () => (await connect()).client,
        execution: run.execution_id,
        say: (text) => output.note(`belay: ${text}`),
        signal: stopping.signal,
      });
    }
    const code = await program.ended;
    if (code === 127) output.notice(`belay: ${command}: command not found`);
    return code;
  } finally {
    stopping.abort();
    await Promise.all([beating, warning]);
  }
}

/** Handles the signals of this process; the handler changes as the run proceeds. */
interface Signals {
  listener(signal: NodeJS.Signals): void;
}

/**
 * Runs the command of a run that has started, and ends the run. Handles every signal until the end: a terminal that closes sends SIGHUP
 * twice, and the second one would end this process before it has given the access back.
 */
async function useAndEnd(
  run: Run,
  command: readonly string[],
  invocation: Invocation<RunOptions & CommonOptions>,
): Promise<number> {
  const leaving = new AbortController();
  const signals: Signals = { listener: () => {} };
  const unlisten = invocation.shell.programs.onSignal((signal) => signals.listener(signal));
  try {
    return await use(run, command, invocation, signals);
  } finally {
    signals.listener = (signal) => void (signal === 'SIGINT' && leaving.abort());
    await end(run, invocation, leaving.signal);
    unlisten();
  }
}

/**
 * Requests the access of a role, runs the command after `--` with it, ends the run, and returns the command's exit
 * code. The end of the run gives back access that was requested for it, unless another run uses it. Throws `usage` when
 * there is no command.
 */
export async function runWithAccess(invocation: Invocation<RunOptions & CommonOptions>): Promise<number> {
  const { args, rest, interactive, connect, shell } = invocation;
  const [program] = rest;
  for (const name of ['for', 'lease'] as const) checkDuration(name, invocation.options[name]);
  if (program === undefined || args.length > 1) {
    const [role = '<role>', ...command] = args;
    const words = [role, '--', ...(command.length > 0 ? [...command, ...rest] : ['<command>'])];
    throw usage(`name the command after --: belay run ${words.join(' ')}`);
  }
  const { client } = await connect();
  const role = args[0] ?? (await chooseRole(client, shell, { command: rest, interactive }));
  return useAndEnd(await start(client, role, invocation), rest, invocation);
}
