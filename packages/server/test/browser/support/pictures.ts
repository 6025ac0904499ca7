/// <reference lib="dom" />
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';

const folder = fileURLToPath(new URL('../../../../../docs/screenshots/', import.meta.url));

/** Saves a picture for the documentation to docs/screenshots, when BELAY_SCREENSHOTS is 1. */
export async function picture(page: Page, name: string): Promise<void> {
  if (process.env.BELAY_SCREENSHOTS !== '1') return;
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map((animation) => animation.finished)));
  await page.screenshot({ path: `${folder}${name}.png` });
}
