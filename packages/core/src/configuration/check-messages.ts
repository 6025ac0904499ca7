import type { ErrorIssue } from '@belay/contract/errors';
import type { CompiledProvider } from './catalog.js';
import type { MessagesDefinition } from './schema.js';

/** Adds an issue for each channel that is no provider which delivers messages. */
export function checkMessages(
  messages: MessagesDefinition | undefined,
  providers: ReadonlyMap<string, CompiledProvider>,
  issues: ErrorIssue[],
): void {
  if (!messages) return;
  const able = [...providers.values()].filter(({ capabilities }) => capabilities.has('notifications'));
  const known = able.map(({ id }) => id).join(', ') || 'none';
  const named = [
    ...messages.channels.map((id, index) => ({ id, path: `messages.channels[${index}]` })),
    ...messages.operators.map(({ provider: id }, index) => ({ id, path: `messages.operators[${index}].provider` })),
  ];
  for (const { id, path } of named) {
    if (able.some((one) => one.id === id)) continue;
    issues.push({ path, message: `"${id}" is not a provider that delivers messages; available: ${known}` });
  }
  if (messages.kinds.includes('revocation.overdue') || messages.operators.length === 0) return;
  issues.push({ path: 'messages.operators', message: 'has no effect without revocation.overdue in messages.kinds' });
}
