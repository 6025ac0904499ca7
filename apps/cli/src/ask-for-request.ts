import type { BelayClient, ElevationRequest, Role } from '@belay/sdk';
import { CliError } from './cli-error.js';
import type { Shell } from './shell.js';

function checkReason(role: Role): (value: string) => string | undefined {
  return (value) => (role.reason.required && value.trim() === '' ? 'This role wants a reason.' : undefined);
}

/** Asks for a request step by step: the role, where, how long and why; then shows it and asks whether to send it. */
export async function askForRequest(client: BelayClient, { prompts, signal }: Shell): Promise<ElevationRequest> {
  const { roles } = await client.roles.list({}, { signal });
  const choices = Object.entries(roles).map(([value, { role }]) => ({
    value,
    label: role.name,
    hint: role.description,
  }));
  if (choices.length === 0) throw new CliError('not_found', 'there is no role that you may ask for');
  const name = await prompts.select('Which role?', choices);
  const role = roles[name]?.role;
  if (role === undefined) throw new CliError('not_found', `there is no role ${name}`);
  const where = role.providers.map((value) => ({ value, label: value }));
  const providers = where.length > 1 ? await prompts.selectMany('At which providers?', where) : role.providers;
  const duration = await prompts.text(`For how long? At most ${role.max_duration}`, {
    placeholder: role.default_duration,
  });
  const reason = await prompts.text('Why?', { check: checkReason(role) });
  const request = { role: name, providers, reason, duration: duration || role.default_duration };
  const summary = `Ask for ${name} at ${providers.join(', ')} for ${request.duration}?`;
  if (!(await prompts.confirm(summary))) throw new CliError('aborted', 'not asked for');
  return request;
}
