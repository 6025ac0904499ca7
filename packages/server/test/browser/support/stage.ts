import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { type Folder, makeFolder, type ServerProcess, startProcess } from '../../start/server-process.js';
import { launchChromium } from './chromium.js';

export const people = { rita: 'Rita Requester', adam: 'Adam Approver', bea: 'Bea Bystander' } as const;
export type PersonName = keyof typeof people;

/** The host of a foreign site, whose pages the test itself serves. */
export const elsewhere = 'elsewhere.test';

export interface Visitor {
  page: Page;
  context: BrowserContext;
}

export interface Stage extends AsyncDisposable {
  url: string;
  browser: Browser;
  /** Errors in the browser, and its requests to other servers. Must stay empty. */
  complaints: string[];
  /** Opens a browser in which no person is signed in. */
  visit(options?: BrowserContextOptions): Promise<Visitor>;
  /** Opens a browser and signs a person of the demo in through its identity provider. */
  signIn(person: PersonName, options?: BrowserContextOptions): Promise<Visitor>;
}

/** Starts the demo as `npm start` does, in a process of its own, and a browser. */
export async function openStage(): Promise<Stage> {
  const folder: Folder = await makeFolder();
  const server: ServerProcess = startProcess(folder.path);
  const browser = await launchChromium();
  await server.says('Database');
  const url = /is ready at (\S+)/.exec(server.stdout())?.[1] ?? '';
  const complaints: string[] = [];

  const visit = async (options: BrowserContextOptions = {}): Promise<Visitor> => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    context.setDefaultTimeout(60_000);
    const page = await context.newPage();
    page.on('console', (message) => {
      // A page with an error status is not an error in the browser; other tests check its text.
      if (message.location().url === page.url() && message.text().startsWith('Failed to load resource')) return;
      if (['error', 'warning'].includes(message.type())) complaints.push(`${page.url()}: ${message.text()}`);
    });
    page.on('pageerror', (error) => complaints.push(`${page.url()}: ${error.message}`));
    page.on('request', (request) => {
      const { hostname, protocol } = new URL(request.url());
      if (hostname !== '127.0.0.1' && hostname !== elsewhere && protocol !== 'data:')
        complaints.push(`requested ${request.url()}`);
    });
    return { page, context };
  };

  return {
    url,
    browser,
    complaints,
    visit,
    async signIn(person, options) {
      const visitor = await visit(options);
      await signInAs(visitor.page, url, person);
      return visitor;
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Signs in from the address of the server to the home page, as a person does. */
async function signInAs(page: Page, url: string, person: PersonName): Promise<void> {
  await page.goto(url);
  await page.getByRole('link', { name: 'Continue with Demo identity provider' }).click();
  await page.getByRole('button', { name: `Sign in as ${people[person]}` }).click();
  await page.getByRole('heading', { name: `Hello, ${people[person]}` }).waitFor();
}

/** Requests the demo's role on its page and ends on the page of the request; returns its path. */
export async function ask(page: Page, url: string, reason: string): Promise<string> {
  await page.goto(`${url}/api/v1/roles`);
  await page.locator('main').getByRole('link', { name: 'reporting-readonly' }).first().click();
  await page.getByLabel('Reason').fill(reason);
  await page.getByRole('button', { name: 'Request reporting-readonly' }).click();
  await page.waitForURL(/\/requests\//);
  return new URL(page.url()).pathname;
}
