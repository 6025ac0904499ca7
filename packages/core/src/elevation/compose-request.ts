import { formatDuration } from '@belay/contract/durations';
import type { ElevationRequest } from '@belay/contract/elevation';
import { AccessError, invalid, pathText } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { type Json, validateInput } from '@belay/workflow';
import { can } from '../can.js';
import type { Catalog, CompiledRole, CompiledWorkflow } from '../configuration/catalog.js';
import type { UserActor } from '../context.js';
import { requireDuration } from '../duration.js';
import type { ElevationInput } from '../plans/input.js';
import { longestDuration, requireWorkflow } from '../plans/plan.js';
import { requireText } from '../text.js';

type Terms = Pick<ElevationRequest, 'providers' | 'workflow' | 'reason' | 'duration' | 'identities'>;

interface Asked {
  user: UserActor;
  role: CompiledRole;
  terms: Terms;
  dynamic?: ElevationInput['dynamic'];
  requestedAt: Date;
}

/**
 * Returns the workflow that a request would start and the input of that workflow, by the configuration alone. Checks
 * the names, the reason, the duration and the workflow's own schema. Throws `invalid` with the field.
 */
export async function composeRequest(
  catalog: Catalog,
  asked: Asked,
): Promise<{ input: ElevationInput; workflow: CompiledWorkflow }> {
  const { user, role, terms, dynamic, requestedAt } = asked;
  const input: ElevationInput = {
    ...chooseProviders(catalog, asked),
    role: role.name,
    reason: checkReason(role, terms.reason),
    duration: chooseDuration(catalog, role, terms),
    identities: chooseIdentities(terms.identities ?? []),
    user: {
      id: user.id,
      email: user.email,
      name: user.name,
      groups: user.groups,
      provider: user.provider,
      subject: user.subject,
    },
    // For the workflow's schema; the stored time is the database's.
    requested_at: requestedAt.toISOString(),
    ...(dynamic === undefined ? {} : { dynamic }),
    ...(role.breakGlass === undefined ? {} : { break_glass: role.breakGlass }),
  };
  const workflow = chooseWorkflow(catalog, role, terms.workflow);
  const issues = await validateInput(workflow.workflow, input as Json);
  if (issues.length > 0) {
    throw new AccessError('invalid', 'The request does not match the input of the workflow', {
      issues: issues.map((issue) => ({ path: pointerText(issue.path), message: issue.message })),
    });
  }
  return { input, workflow };
}

/** Returns a JSON pointer in the form of an issue's path. A name that is a number is read as a position in a list. */
function pointerText(pointer: string): string {
  const parts = pointer.split('/').slice(1);
  return pathText(
    parts
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
      .map((part) => (/^\d+$/.test(part) ? Number(part) : part)),
  );
}

function chooseIdentities(asked: readonly string[]): string[] {
  const names = asked.map((identity, index) => requireText(identity.trim(), `identities[${index}]`, 320));
  return [...new Set(names.filter(Boolean))];
}

function chooseProviders(
  catalog: Catalog,
  { role, user, terms }: Asked,
): Pick<ElevationInput, 'providers' | 'provider'> {
  // A missing list means all providers of the role; an empty list is a mistake, and must not mean all.
  if (terms.providers?.length === 0) throw invalid('providers', 'must name at least one provider');
  const providers = [...new Set(terms.providers ?? role.providers)];
  providers.forEach((id, index) => {
    const provider = catalog.providers.get(id);
    if (!role.providers.includes(id) || !provider || !can(user, 'view', { provider })) {
      throw invalid(`providers[${index}]`, `the role "${role.name}" cannot be requested at "${id}"`);
    }
  });
  const [provider] = providers;
  if (provider === undefined) throw invalid('providers', 'must name at least one provider');
  return { providers, provider };
}

function checkReason(role: CompiledRole, reason: string | undefined): string {
  const text = reason?.trim() ?? '';
  if (text.length === 0 && role.reason.required) throw invalid('reason', 'is required');
  requireText(text, 'reason', limits.reason);
  if (text.length > 0 && role.reason.pattern && !role.reason.pattern.test(text)) {
    throw invalid('reason', `must match the pattern ${role.reason.pattern.source}`);
  }
  return text;
}

function chooseDuration(catalog: Catalog, role: CompiledRole, request: Terms): string {
  const providers = request.providers ?? role.providers;
  const longest = Math.min(...providers.map((provider) => longestDuration(catalog, role, provider)));
  if (request.duration === undefined) return formatDuration(Math.min(role.defaultDuration, longest));
  const milliseconds = requireDuration(request.duration, 'duration');
  if (milliseconds > longest)
    throw invalid('duration', `is longer than ${formatDuration(longest)}, the longest allowed`);
  return formatDuration(milliseconds);
}

function chooseWorkflow(catalog: Catalog, role: CompiledRole, asked: string | undefined): CompiledWorkflow {
  const name = asked ?? role.workflows[0] ?? '';
  requireWorkflow(catalog, role, name);
  const workflow = catalog.workflows.get(name);
  if (!workflow) throw invalid('workflow', `there is no workflow "${name}"`);
  return workflow;
}
