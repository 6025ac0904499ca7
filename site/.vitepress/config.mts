import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vitepress';
import { linkRepository } from './links.mts';
import { readNavigation } from './navigation.mts';

const site = fileURLToPath(new URL('..', import.meta.url));
const docs = fileURLToPath(new URL('../../docs', import.meta.url));

/** The pages are outside this folder, but their compiled code imports Vue, which is installed only here. */
const vueOfThisFolder: Plugin = {
  name: 'belay-vue',
  enforce: 'pre',
  resolveId(id, _importer, { ssr }) {
    if (!/^vue(\/|$)/.test(id)) return null;
    return ssr ? { id, external: true } : this.resolve(id, join(site, 'package.json'), { skipSelf: true });
  },
};

/** The site works without other servers: everything that a page needs comes from the same folder. */
export default defineConfig({
  title: 'Belay',
  description: 'Just-in-time elevated access that always ends: documentation',
  lang: 'en',
  srcDir: docs,
  outDir: join(site, 'dist'),
  cacheDir: join(site, 'node_modules/.cache'),
  rewrites: (path) => path.replace(/README\.md$/, 'index.md'),
  lastUpdated: false,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: '/icon.svg' }]],
  markdown: {
    // The documents contain no HTML: `<uid>` is a word.
    html: false,
    config(markdown) {
      linkRepository(markdown, docs, env.BELAY_REPOSITORY);
      // Expressions of workflows are `{{ }}` too; Vue must not evaluate them.
      for (const name of ['text', 'code_inline'] as const) {
        const render = markdown.renderer.rules[name];
        markdown.renderer.rules[name] = (...all) => render?.(...all).replaceAll('{{', '&#123;&#123;') ?? '';
      }
    },
  },
  vite: {
    plugins: [vueOfThisFolder],
    server: { fs: { allow: ['..', docs] } },
    publicDir: join(site, 'public'),
  },
  transformPageData(page) {
    if (page.relativePath !== 'index.md') return;
    page.frontmatter = { ...page.frontmatter, ...landing };
  },
  buildEnd() {
    copyFileSync(join(docs, 'belay.schema.json'), join(site, 'dist/belay.schema.json'));
    copyFileSync(join(site, '../packages/console/src/static/icon.svg'), join(site, 'dist/icon.svg'));
  },
  themeConfig: {
    siteTitle: 'Belay',
    logo: '/icon.svg',
    nav: [
      { text: 'Operate', link: '/guides/operators' },
      { text: 'Connectors', link: '/connectors/' },
      { text: 'Workflows', link: '/guides/workflow-authors' },
      { text: 'Interface', link: '/interface' },
      { text: 'Decisions', link: '/decisions/' },
    ],
    sidebar: readNavigation(docs),
    outline: [2, 3],
    search: { provider: 'local' },
    docFooter: { prev: false, next: false },
  },
});

const landing = {
  layout: 'home',
  hero: {
    name: 'Belay',
    text: 'Access that always ends',
    tagline:
      'A person requests a role, a workflow decides, Belay grants the access for a stated time and always revokes it.',
    actions: [
      { theme: 'brand', text: 'Deploy it', link: '/guides/deploy' },
      { theme: 'alt', text: 'What is promised', link: '/guarantees' },
    ],
  },
};
