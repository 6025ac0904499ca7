import { Terminal } from './errors.js';
import type { Message } from './notifications.js';

export interface Link {
  label: string;
  url: string;
}

/** Returns the links of a message. Throws `Terminal` for one that is not a web address. */
export function linksOf({ actions }: Message): Link[] {
  return actions.flatMap((action) => (action.kind === 'link' ? [readLink(action)] : []));
}

function readLink({ label, url }: Link): Link {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed?.protocol !== 'https:' && parsed?.protocol !== 'http:')
    throw new Terminal('A link in a message must be a web address');
  return { label, url: parsed.href };
}
