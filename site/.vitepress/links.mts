import { existsSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { MarkdownRenderer } from 'vitepress';

/**
 * Makes links from docs/ to other files of the repository lead to `repository`, for example https://example.com/belay/blob/main. Without it
 * they become plain text, because the site has no such pages. Throws when the file does not exist.
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
        // The renderer closes each tag that it opened, so the next token of the list is the end of this link.
        for (const half of links.slice(index, index + 2)) half.tag = 'span';
      }
    }
  });
}
