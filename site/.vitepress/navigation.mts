import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { DefaultTheme } from 'vitepress';

/**
 * Returns the groups of the navigation: the headings of a list in Markdown, with the links under each. The lists are also read in the
 * repository (`README.md` of docs/ and of its decisions), so that only one list has to be maintained.
 */
function readGroups(docs: string, file: string): DefaultTheme.SidebarItem[] {
  const groups: DefaultTheme.SidebarItem[] = [];
  for (const line of readFileSync(join(docs, file), 'utf8').split('\n')) {
    const heading = /^## (.+)$/.exec(line)?.[1];
    const [, text, target] = /^- \[([^\]]+)\]\(([^):]+)\)/.exec(line) ?? [];
    if (heading !== undefined) groups.push({ text: heading, items: [] });
    else if (text !== undefined && target !== undefined)
      groups.at(-1)?.items?.push({ text, link: toAddress(join(dirname(file), target)) });
  }
  return groups;
}

const toAddress = (file: string) => `/${file.replace(/README\.md/, '').replace(/\.md/, '')}`;

/** Returns the navigation of every page, by folder. Throws when a page of `docs` is in no list. */
export function readNavigation(docs: string): DefaultTheme.SidebarMulti {
  const guides = readGroups(docs, 'README.md');
  const decisions = readDecisions(docs);
  const named = new Set([...guides, ...decisions].flatMap(({ items = [] }) => items.map(({ link }) => link)));
  const forgotten = readdirSync(docs, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .filter((file) => !named.has(toAddress(relative('.', file))));
  if (forgotten.length > 0) throw new Error(`Not in docs/README.md: ${forgotten.join(', ')}`);
  return { '/decisions/': decisions, '/': guides };
}

function readDecisions(docs: string): DefaultTheme.SidebarItem[] {
  const items = [
    ...readFileSync(join(docs, 'decisions/README.md'), 'utf8').matchAll(/^- \[(\d+)\]\(([^)]+)\) (.+)$/gm),
  ];
  return [
    {
      text: 'Decisions',
      link: '/decisions/',
      items: items.map(([, number, file, title]) => ({
        text: `${number} ${title}`,
        link: toAddress(`decisions/${file}`),
      })),
    },
  ];
}
