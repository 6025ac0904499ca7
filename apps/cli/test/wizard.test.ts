import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasProgram } from './support/has-program.js';
import { type Installation, startInstallation } from './support/installation.js';
import { typeInto } from './support/pty.js';

const main = fileURLToPath(new URL('../bundle/main.js', import.meta.url));
const enter = '\r';
const yes = 'y';

const here = hasProgram('python3', 'nothing was typed at a real terminal');
let installation: Installation;
let env: Record<string, string>;

beforeAll(async () => {
  if (!here) return;
  installation = await startInstallation();
  const made = await installation.program([
    ...['token', 'create', '--user', 'rita@example.com', '--ttl', 'PT1H'],
    ...['--group', 'engineers'],
  ]);
  env = {
    PATH: process.env.PATH ?? '',
    HOME: installation.folder,
    TERM: 'xterm-256color',
    BELAY_URL: installation.url,
    BELAY_TOKEN: made.stdout.trim(),
  };
});
afterAll(() => installation?.[Symbol.asyncDispose]());

/** Types into the built program at a terminal, with a person's normal environment. */
const belay = (args: string, more: Record<string, string> = {}) =>
  typeInto(`'${process.execPath}' '${main}' ${args}`, { ...env, ...more });

async function pending(): Promise<number> {
  const { stdout } = await installation.program(['executions', '--json'], env);
  return (JSON.parse(stdout) as { executions: unknown[] }).executions.length;
}

describe.runIf(here)('at a real terminal', () => {
  it('the wizard asks, rejects what cannot be, shows a summary, and sends what was said', async () => {
    const before = await pending();
    await using screen = belay('request --no-wait');
    await screen.sees('Which role at demo-postgres?');
    await screen.sees('reporting-readonly');
    screen.type(enter);
    await screen.sees('Duration?');
    screen.type(`9d${enter}`);
    await screen.sees('At most');
    screen.type(`\u007f\u007f20m${enter}`);
    await screen.sees('Reason?');
    screen.type(`the figures look wrong${enter}`);
    await screen.sees('Request reporting-readonly at demo-postgres for 20m?');
    screen.type(yes);
    await screen.sees('request  ');
    expect(await screen.ended()).toBe(0);
    expect(await pending()).toBe(before + 1);
  });

  it('Ctrl-C in the middle of the wizard ends with 130 and sends nothing', async () => {
    const before = await pending();
    await using screen = belay('request');
    await screen.sees('Which role');
    screen.type('\u0003');
    await screen.sees('cancelled');
    expect(await screen.ended()).toBe(130);
    expect(await pending()).toBe(before);
  });

  it('a sentence is shown as it was understood, asked about, and then waited for with one line that moves', async () => {
    await using screen = belay(`request 'read the reporting tables for 20 minutes, month end'`);
    await screen.sees('nothing has been sent yet');
    await screen.sees('reporting-readonly');
    await screen.sees('PT20M');
    await screen.sees('Send this request?');
    screen.type(yes);
    await screen.sees('waiting for approval by');
    expect(screen.screen()).toContain('\r\u001b[2K');
    screen.type('\u0003');
    await screen.sees('the request continues');
    expect(await screen.ended()).toBe(130);
  });

  it('NO_COLOR and a dumb terminal are heeded', async () => {
    await using plain = belay('whoami', { NO_COLOR: '1' });
    expect(await plain.ended()).toBe(0);
    expect(plain.screen()).not.toContain('\u001b');
    await using dumb = belay(`executions watch ${'0'.repeat(8)}-0000-4000-8000-000000000000`, { TERM: 'dumb' });
    expect(await dumb.ended()).toBe(5);
    expect(dumb.screen()).not.toContain('\u001b');
  });

  it('a closed pipe ends it without an error', async () => {
    await using screen = typeInto(
      `sh -c "'${process.execPath}' '${main}' logs --json --limit 500 | head -n 1; echo done"`,
      env,
    );
    await screen.sees('done');
    await screen.ended();
    expect(screen.screen()).not.toMatch(/EPIPE|Error/);
  });

  it('agent status says that nothing runs here, in the folder that it was told', async () => {
    const state = path.join(installation.folder, 'state');
    await mkdir(state, { recursive: true });
    await writeFile(path.join(state, 'marker'), '');
    await using screen = belay('agent status', { BELAY_DATA: state, BELAY_AGENT: installation.url });
    expect(await screen.ended()).toBe(7);
    expect(screen.screen()).toContain('not running');
  });
});
