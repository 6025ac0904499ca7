import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const executable = process.env.BELAY_TEST_CHROMIUM ?? '/usr/bin/chromium';

/** Starts the browser that the machine has. Throws when it has none: a page that nobody has opened has not been tested. */
export function launchChromium(): Promise<Browser> {
  if (!existsSync(executable)) {
    throw new Error(
      `There is no Chromium at ${executable}. On Debian: apt-get install chromium; elsewhere: name one with BELAY_TEST_CHROMIUM`,
    );
  }
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
    ],
  });
}
