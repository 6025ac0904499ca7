import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Asset {
  type: string;
  body: string;
  /** The version that addresses carry: an address with it never means anything else, and is kept for a year. */
  version: string;
}

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Read as they were written, from the sources: there is no build step between them and the browser. */
function read(name: string): Asset {
  const body = readFileSync(new URL(`../src/static/${name}`, import.meta.url), 'utf8');
  const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? 'text/plain; charset=utf-8';
  return { type, body, version: createHash('sha256').update(body).digest('base64url').slice(0, 12) };
}

/** What pages load: one style sheet, one small script, an icon. Nothing comes from anywhere else. */
export const assets: ReadonlyMap<string, Asset> = new Map(
  ['belay.css', 'live.js', 'words.js', 'icon.svg'].map((name) => [name, read(name)]),
);

/** Address of an asset, under the prefix so that a proxy which forwards only that still has it. */
export function assetPath(basePath: string, name: string): string {
  return `${basePath}/assets/${name}?v=${assets.get(name)?.version ?? ''}`;
}
