// Opens the built site in a browser: it must request nothing from other servers, its search must find pages, and no page may fail.
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join } from 'node:path';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const folder = fileURLToPath(new URL('dist', import.meta.url));
const program = env.BELAY_TEST_CHROMIUM ?? '/usr/bin/chromium';
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

if (!existsSync(program)) {
  console.log(`not checked in a browser, since ${program} is not installed`);
  process.exit(0);
}

const server = createServer(async (request, response) => {
  const path = decodeURIComponent(new URL(request.url, 'http://site').pathname);
  const file = join(folder, path.endsWith('/') ? `${path}index.html` : path);
  const body = await readFile(file).catch(() => undefined);
  response.writeHead(body ? 200 : 404, { 'content-type': types[extname(file)] ?? 'application/octet-stream' });
  response.end(body);
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const origin = `http://127.0.0.1:${server.address().port}`;

const wrong = [];
const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
try {
  const page = await browser.newPage();
  let at = '';
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:'))
      wrong.push(`${at} asks for ${request.url()}`);
  });
  page.on('response', (answer) => answer.status() < 400 || wrong.push(`${at}: ${answer.status()} ${answer.url()}`));
  page.on('pageerror', (error) => wrong.push(`${at}: ${error.message}`));
  page.on('console', (message) => message.type() === 'error' && wrong.push(`${at}: ${message.text()}`));

  const built = (await readdir(folder, { recursive: true })).filter(
    (file) => /\.html$/.test(file) && file !== '404.html',
  );
  // Decisions all have the same layout, so only one of them is opened.
  const files = built.filter((file) => !/^decisions\/0(?!001)/.test(file));
  for (at of files) {
    await page.goto(`${origin}/${at}`);
    const heading = await page.locator('h1').first().textContent();
    if (!heading?.trim()) wrong.push(`${at} has no heading`);
    // Expressions of workflows are only in code. In these parts, a `{{` is an expression that Vue did not replace.
    const texts = await page.locator('header, aside, nav, h1, .VPHero').allInnerTexts();
    if (texts.some((text) => text.includes('{{'))) wrong.push(`${at} shows an expression of its template`);
  }

  at = 'the search';
  await page.goto(origin);
  await page.locator('#local-search button').click();
  await page.locator('#localsearch-input').fill('overdue revocation');
  await page.locator('#localsearch-list a').first().waitFor();
  console.log(`${built.length} pages, ${files.length} opened`);
} finally {
  await browser.close();
  server.close();
}
for (const line of wrong) console.error(line);
process.exit(wrong.length === 0 ? 0 : 1);
