import { printable } from '@belay/contract/printable';
import { CliError, type CliErrorCode, toExitCode } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import type { Sink } from './output.js';

interface Failure {
  code: CliErrorCode;
  message: string;
  issues?: { path: string; message: string }[];
  request_id?: string;
}

const hints: Partial<Record<CliErrorCode, string>> = {
  unauthenticated: 'sign in with: belay login',
  network: 'check that the server runs and that --url is right; see: belay doctor',
};

async function readFailure(error: unknown): Promise<Failure> {
  if (error instanceof CliError) {
    return { code: error.code, message: error.message, ...(error.options.issues && { issues: error.options.issues }) };
  }
  // Ctrl-C during a delay.
  if (error instanceof Error && error.name === 'AbortError') return { code: 'aborted', message: 'stopped' };
  // Loaded here: usage errors are reported faster without the client.
  const { isBelayError } = await import('@belay/sdk');
  if (isBelayError(error)) {
    const { code, issues, requestId } = error;
    const { explainNetwork } = await import('../explain-network.js');
    const why = code === 'network' ? explainNetwork(error) : undefined;
    const message = why === undefined ? error.message : `${error.message}: ${why}`;
    return { code, message, ...(issues && { issues }), ...(requestId !== undefined && { request_id: requestId }) };
  }
  // An unexpected error: its message only, never its stack.
  return { code: 'failed', message: error instanceof Error ? error.message : String(error) };
}

/** Prints why a command failed to standard error, as one line of text or as JSON, and returns the exit code. */
export async function reportFailure(error: unknown, stderr: Sink, json: boolean): Promise<ExitCode> {
  const failure = await readFailure(error);
  if (json) {
    const { toJson } = await import('./format.js');
    stderr.write(`${toJson({ error: failure })}\n`);
    return toExitCode(failure.code);
  }
  const issues = (failure.issues ?? [])
    .map(({ path, message }) => (path ? `${path}: ${message}` : message))
    // An issue that repeats the message is left out.
    .filter((issue) => issue !== failure.message)
    .join('; ');
  const hint = hints[failure.code];
  // A single issue often has the same text as the message.
  const isSaid = failure.issues?.length === 1 && failure.issues[0]?.message === failure.message;
  const text = [(isSaid && issues) || failure.message, !isSaid && issues && `: ${issues}`, hint && ` (${hint})`]
    .filter(Boolean)
    .join('');
  stderr.write(`belay: ${printable(text.replace(/\s*\n\s*/g, ' '))}\n`);
  return toExitCode(failure.code);
}
