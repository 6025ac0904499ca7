import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Asset {
  type: string;
  body: string | Buffer;
  /** The version in an asset's address: the content of such an address never changes, so browsers can cache it for a year. */
  version: string;
}

const types: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};

/** Several style sheets that browsers get as one file: later ones override earlier ones. */
const sheets = [
  'tokens',
  'base',
  'shell',
  'components',
  'forms',
  'pages/access',
  'pages/inbox',
  'pages/requests',
  'pages/administration',
  'pages/workflows',
];

/**
 * Modules that browsers load unchanged; a page names the ones that it needs in addition to `shell.js` and `drafts.js`.
 */
const scripts = ['shell.js', 'palette.js', 'live.js', 'inbox.js', 'words.js', 'drafts.js', 'stars.js'];

function readStatic(name: string): Buffer {
  return readFileSync(new URL(`../src/static/${name}`, import.meta.url));
}

function assetOf(name: string, body: string | Buffer): [string, Asset] {
  const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? 'text/plain; charset=utf-8';
  return [name, { type, body, version: createHash('sha256').update(body).digest('base64url').slice(0, 12) }];
}

/** The assets of the pages, read from the sources without a build step. Pages load nothing from other origins. */
export const assets: ReadonlyMap<string, Asset> = new Map([
  assetOf('belay.css', sheets.map((name) => readStatic(`css/${name}.css`).toString('utf8')).join('\n')),
  ...[...scripts, 'icon.svg'].map((name) => assetOf(name, readStatic(name).toString('utf8'))),
  assetOf('inter.woff2', readStatic('fonts/inter.woff2')),
]);

/** Returns the address of an asset, under the base path, so that a proxy that forwards only the base path serves it. */
export function assetPath(basePath: string, name: string): string {
  return `${basePath}/assets/${name}?v=${assets.get(name)?.version ?? ''}`;
}
