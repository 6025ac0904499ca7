import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Asset {
  type: string;
  body: string;
  /** The version in an asset's address: the content of such an address never changes, so browsers can cache it for a year. */
  version: string;
}

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** The assets, read from the sources without a build step. */
function read(name: string): Asset {
  const body = readFileSync(new URL(`../src/static/${name}`, import.meta.url), 'utf8');
  const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? 'text/plain; charset=utf-8';
  return { type, body, version: createHash('sha256').update(body).digest('base64url').slice(0, 12) };
}

/** The assets of the pages: a style sheet, a script, an icon. Pages load nothing from other origins. */
export const assets: ReadonlyMap<string, Asset> = new Map(
  ['belay.css', 'live.js', 'words.js', 'icon.svg'].map((name) => [name, read(name)]),
);

/** Returns the address of an asset, under the base path, so that a proxy that forwards only the base path serves it. */
export function assetPath(basePath: string, name: string): string {
  return `${basePath}/assets/${name}?v=${assets.get(name)?.version ?? ''}`;
}
