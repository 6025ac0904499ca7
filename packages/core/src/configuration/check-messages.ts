import type { ErrorIssue } from '@belay/contract/errors';
import type { CompiledProvider } from './catalog.js';
import { unknownName } from './issue.js';
import type { MessagesDefinition } from './schema.js';

/**
 * Adds an issue for each channel or operator whose provider does not deliver messages, and for operators whom no kind of message concerns.
 */
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
    const message = `"${id}" is not a provider that delivers messages; available: ${known}`;
    issues.push(unknownName(path, message, id, () => able.map((one) => one.id)));
  }
  const ofOperators = [
    'revocation.overdue',
    'access.drifted',
    'people.joined',
    'break_glass.used',
    'review.overdue',
  ] as const;
  if (ofOperators.some((kind) => messages.kinds.includes(kind)) || messages.operators.length === 0) return;
  const path = 'messages.operators';
  issues.push({ path, message: `has no effect without ${ofOperators.join(', ')} in messages.kinds` });
}
