import { createClient } from '@belay/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findFaults } from './support/axe.js';
import { hasChromium } from './support/chromium.js';
import { picture } from './support/pictures.js';
import { openStage, type Stage, type Visitor } from './support/stage.js';

let stage: Stage;
let rita: Visitor;
const here = hasChromium();
beforeAll(async () => {
  if (!here) return;
  stage = await openStage();
  rita = await stage.signIn('rita');
});
afterAll(() => stage?.[Symbol.asyncDispose]());

describe.runIf(here)('a login for a machine without a browser, in one', () => {
  it.each([
    ['Yes, sign in this device', 'is signed in as'],
    ['Reject sign-in', 'was denied'],
  ])('is looked at, and answered with "%s"', async (button, said) => {
    const client = createClient({ url: stage.url });
    const started = await client.auth.startDevice('belay on build-3');
    const { page } = rita;
    await page.goto(started.verification_uri);
    expect(await findFaults(page)).toEqual([]);
    await page.getByLabel('Code').fill(started.user_code.toLowerCase());
    await page.getByRole('button', { name: 'Review device' }).click();
    await page.getByRole('heading', { name: 'Sign in this device?' }).waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.getByText('belay on build-3').waitFor();
    await picture(page, 'device');
    await page.getByRole('button', { name: button }).click();
    await page.getByText(said).waitFor();
    const polled = client.auth.pollDevice(started.device_code);
    if (button === 'Reject sign-in') await expect(polled).rejects.toMatchObject({ code: 'forbidden' });
    else expect(await polled).toMatchObject({ status: 'complete', user: { name: expect.stringContaining('Rita') } });
    expect(stage.complaints).toEqual([]);
  });
});
