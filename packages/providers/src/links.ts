import { Terminal } from './errors.js';
import type { Message } from './notifications.js';

export interface Link {
  label: string;
  url: string;
  api?: string;
}

/** Returns the links of a message. Throws `Terminal` when a link is not a web address (http or https). */
export function linksOf({ actions }: Message): Link[] {
  return actions.flatMap((action) => (action.kind === 'link' ? [readLink(action)] : []));
}

function readLink({ label, url, api }: Link): Link {
  return { label, url: readAddress(url), ...(api === undefined ? {} : { api: readAddress(api) }) };
}

function readAddress(address: string): string {
  const parsed = URL.canParse(address) ? new URL(address) : undefined;
  if (parsed?.protocol !== 'https:' && parsed?.protocol !== 'http:')
    throw new Terminal('A link in a message must be a web address');
  return parsed.href;
}
