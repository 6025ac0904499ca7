import type { BelayClient, ElevationRequest, Role } from '@belay/sdk';
import { CliError } from './cli-error.js';
import { describeDuration, readDuration } from './duration.js';
import type { Shell } from './shell.js';

function checkReason({ reason }: Role): (value: string) => string | undefined {
  return (value) => (reason.required && value.trim() === '' ? 'This role requires a reason.' : undefined);
}

function checkDuration(role: Role): (value: string) => string | undefined {
  return (value) => {
    const wanted = readDuration(value || role.default_duration);
    if (wanted === undefined || wanted === 0) return 'Not a valid duration, for example 1h30m or PT1H30M.';
    const most = readDuration(role.max_duration) ?? Number.POSITIVE_INFINITY;
    return wanted > most ? `At most ${describeDuration(most)}.` : undefined;
  };
}

function describe(duration: string): string {
  const milliseconds = readDuration(duration);
  return milliseconds === undefined ? duration : describeDuration(milliseconds);
}

/** Returns the provider; prompts only when there is more than one. */
async function askForProvider(roles: Role[], { prompts }: Shell): Promise<string> {
  const providers = [...new Set(roles.flatMap((role) => role.providers))].sort();
  const [only] = providers;
  if (only === undefined) throw new CliError('not_found', 'you cannot request any role');
  if (providers.length === 1) return only;
  const names = (provider: string) => roles.filter((role) => role.providers.includes(provider)).map(({ name }) => name);
  return prompts.select(
    'Provider?',
    providers.map((value) => ({ value, label: value, hint: names(value).join(', ') })),
  );
}

/**
 * Prompts for a request step by step: provider, role, duration and reason; then shows it and prompts for a
 * confirmation. Throws `aborted` without the confirmation, and `not_found` when there is no role to request.
 */
export async function askForRequest(client: BelayClient, shell: Shell): Promise<ElevationRequest> {
  const { prompts, signal } = shell;
  const { roles } = await client.roles.list({}, { signal });
  const provider = await askForProvider(
    Object.values(roles).map(({ role }) => role),
    shell,
  );
  const choices = Object.entries(roles)
    .filter(([, { role }]) => role.providers.includes(provider))
    .map(([value, { role }]) => ({ value, label: role.name, hint: role.description }));
  const name = await prompts.select(`Which role at ${provider}?`, choices);
  const role = roles[name]?.role;
  if (role === undefined) throw new CliError('not_found', `role ${name} does not exist`);
  const wanted = await prompts.text(`Duration? At most ${describe(role.max_duration)}`, {
    placeholder: role.default_duration,
    check: checkDuration(role),
  });
  const duration = wanted.trim() || role.default_duration;
  const reason = await prompts.text('Reason?', { check: checkReason(role) });
  const summary = `Request ${name} at ${provider} for ${describe(duration)}?`;
  if (!(await prompts.confirm(summary))) throw new CliError('aborted', 'not sent');
  return { role: name, providers: [provider], duration, ...(reason && { reason }) };
}
