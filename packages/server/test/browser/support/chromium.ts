import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const executable = process.env.BELAY_TEST_CHROMIUM ?? '/usr/bin/chromium';

/**
 * Returns whether the machine has the browser. Belay does not need it, so without it the tests of pages are skipped with a warning. CI
 * installs it, and its absence there is a failure.
 */
export function hasChromium(): boolean {
  if (existsSync(executable) || process.env.CI) return true;
  console.warn(
    `pages are not tested: there is no Chromium at ${executable}. On Debian: apt-get install chromium; elsewhere: name one with BELAY_TEST_CHROMIUM`,
  );
  return false;
}

/** Starts the browser of the machine; `more` are additional arguments. */
export function launchChromium(more: readonly string[] = []): Promise<Browser> {
  return chromium.launch({
    executablePath: executable,
    headless: true,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  });
}
