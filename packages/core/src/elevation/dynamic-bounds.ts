import { isNamed } from '@belay/contract/audience';
import { formatDuration } from '@belay/contract/durations';
import type { DynamicBounds } from '@belay/contract/elevation';
import { requireUser } from '../actor.js';
import { can } from '../can.js';
import type { CompiledNames } from '../configuration/name-rules.js';
import type { ActorStore } from '../context.js';

/** Returns the providers where the caller may request permissions and groups directly, with the bounds that apply to the caller. */
export function listDynamicBounds(ctx: ActorStore): { bounds: DynamicBounds[] } {
  const user = requireUser(ctx);
  const catalog = ctx.catalog.current();
  const bounds = [...catalog.dynamic].flatMap(([id, bound]): DynamicBounds[] => {
    const provider = catalog.providers.get(id);
    if (!provider || !can(user, 'view', { provider }) || !isNamed(user, bound.requesters)) return [];
    return [
      {
        provider: id,
        name: provider.definition.name ?? id,
        permissions: listed(bound.permissions),
        resources: listed(bound.resources),
        groups: listed(bound.groups),
        workflows: [...bound.workflows],
        max_duration: formatDuration(bound.maxDuration),
        default_duration: formatDuration(bound.defaultDuration),
        for_others: bound.delegates !== undefined && isNamed(user, bound.delegates),
      },
    ];
  });
  return { bounds: bounds.sort((a, b) => (a.provider < b.provider ? -1 : 1)) };
}

function listed({ allow, deny }: CompiledNames): { allow: string[]; deny: string[] } {
  return { allow: [...allow], deny: [...deny] };
}
