import { invalid } from '@belay/contract/errors';
import { limits } from '@belay/contract/limits';
import { requireText } from '../text.js';

/**
 * Returns the name that a program gives itself, in a form that pages, logs and terminals can display. It is not
 * verified. Throws `invalid` when it is empty, longer than 200 characters, or has characters that are displayed as
 * something else.
 */
export function requireLabel(given: string): string {
  const label = requireText(given.trim(), 'label', limits.name);
  if (label === '' || /[\p{C}\p{Zl}\p{Zp}]/u.test(label))
    throw invalid('label', 'contains characters that cannot be displayed');
  return label;
}
