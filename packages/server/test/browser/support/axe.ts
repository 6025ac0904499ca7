/// <reference lib="dom" />
import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** Returns the violations that axe finds on a page, by all rules or only those of colours. The content security policy stays in force. */
export async function findFaults(page: Page, only?: 'colours'): Promise<string[]> {
  // Text can be seen before the stylesheets have come, in the colours of the browser.
  await page.waitForLoadState();
  await page.evaluate(axe.source);
  return page.evaluate(async (rules) => {
    const { axe: inPage } = globalThis as unknown as { axe: typeof axe };
    const { violations } = await inPage.run(document, rules === 'colours' ? { runOnly: ['color-contrast'] } : {});
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`));
  }, only);
}
