import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

/**
 * Links that leave docs/ for a file of the repository (sources, READMEs) lead to `repository`, e.g.
 * https://example.com/belay/blob/main; without one they are plain text, since the site has no such page. Throws when the file
 * does not exist.
 */
export function linkRepository(markdown: MarkdownRenderer, docs: string, repository: string | undefined): void {
  const root = dirname(docs);
  markdown.core.ruler.push('belay-repository', ({ env, tokens }) => {
    const links = tokens
      .flatMap(({ children }) => children ?? [])
      .filter(({ type }) => /^link_(open|close)$/.test(type));
    for (const [index, link] of links.entries()) {
      const [path = '', hash] = (link.attrGet('href') ?? '').split('#');
      if (link.type !== 'link_open' || path === '' || /^(\w+:|\/)/.test(path)) continue;
      const file = relative(root, join(dirname(env.path), path));
      if (file.startsWith('docs/')) continue;
      if (!existsSync(join(root, file))) throw new Error(`${env.path}: ${path} does not exist`);
      if (repository !== undefined)
        link.attrSet('href', `${repository}/${file}${hash === undefined ? '' : `#${hash}`}`);
      else {
        link.attrs = [['title', `${file} in the repository`]];
        // The renderer closes what it opened: the next one of the list is its end.
        for (const half of links.slice(index, index + 2)) half.tag = 'span';
      }
    }
  });
}
