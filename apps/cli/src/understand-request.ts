import type { BelayClient, ElevationRequest, Suggestion } from '@belay/sdk';
import { CliError, usage } from './cli-error.js';
import type { Invocation } from './command.js';
import type { Output } from './output/output.js';

/** The values of flags beside a sentence; each takes precedence over what was understood. */
export type Corrections = Partial<ElevationRequest>;

/** Returns the request that was understood from a sentence, ready to send. Throws `not_found` when no role matches. */
export async function understandRequest(
  client: BelayClient,
  sentence: string,
  corrections: Corrections,
  signal: AbortSignal,
): Promise<{ request: ElevationRequest; suggestion: Suggestion }> {
  const suggestion = await client.elevation.suggest({ reason: sentence }, { signal });
  const { suggested_role, suggested_duration, suggested_providers, workflow_id } = suggestion.output;
  const role = corrections.role ?? suggested_role;
  if (role === '') {
    // One word is most likely a role's name: the server's error says that it does not exist, or who can request it.
    if (/^[\w.-]+$/.test(sentence)) await client.roles.get(sentence, { signal });
    throw new CliError(
      'not_found',
      'no role that you can request matches this sentence; say what you want to read or change, and where, or see: belay roles',
    );
  }
  // The other suggested values belong to the suggested role; a different role has its own.
  const suggested =
    role === suggested_role
      ? { duration: suggested_duration, providers: suggested_providers, workflow: workflow_id }
      : {};
  return { request: { ...suggested, reason: sentence, ...corrections, role }, suggestion };
}

function render(request: ElevationRequest, { output: { matched, alternatives } }: Suggestion, output: Output): string {
  return output.fields({
    role: request.role,
    providers: request.providers?.join(', ') ?? 'all of the role’s',
    duration: request.duration ?? 'the role’s default',
    reason: request.reason,
    identities: request.identities?.join(', '),
    workflow: request.workflow,
    'matched words': matched.join(', '),
    'other matches': alternatives.map(({ suggested_role }) => suggested_role).join(', '),
  });
}

/** Shows the request that was understood, and throws unless the person confirms it at the terminal or with `--yes`. */
export async function confirmUnderstood(
  understood: { request: ElevationRequest; suggestion: Suggestion },
  { output, interactive, shell }: Pick<Invocation<unknown>, 'output' | 'interactive' | 'shell'>,
  yes: boolean,
): Promise<void> {
  output.note('understood as (nothing has been sent yet):');
  output.note(render(understood.request, understood.suggestion, output));
  if (yes) return;
  if (!interactive) {
    const { role } = understood.request;
    throw usage(
      `a request for ${role} needs a confirmation on a terminal; use --yes to send it, or --dry-run to send nothing`,
    );
  }
  if (!(await shell.prompts.confirm('Send this request?'))) throw new CliError('aborted', 'not sent');
}
