import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { exitCodes } from '../src/index.js';
import { openTerminal, type Terminal } from './support/run.js';

let terminal: Terminal;
let text: string;

beforeAll(async () => {
  terminal = await openTerminal();
  text = await readFile(new URL('../../../docs/cli.md', import.meta.url), 'utf8');
});
afterAll(() => terminal[Symbol.asyncDispose]());

async function namesBelow(...words: string[]): Promise<string[]> {
  const { stdout } = await terminal.run(['__complete', ...words]);
  return stdout.split('\n').flatMap((line) => line.split('\t')[0] || []);
}

describe('docs/cli.md', () => {
  it('has every command, and every option of what people run most', async () => {
    const commands = (await namesBelow('')).filter((name) => name !== 'help');
    const table = text.slice(text.indexOf('## Commands'), text.indexOf('## Which server'));
    for (const name of commands) expect(table, name).toMatch(new RegExp(`[\`\\n|(]${name}\\b`));
    for (const group of ['executions', 'access', 'agent', 'vault']) {
      for (const name of await namesBelow(group, '')) if (name !== 'help') expect(table, name).toContain(name);
    }
    for (const command of ['login', 'logs', 'approve']) {
      const common = ['--help', '--json', '--jq', '--template', '--url', '--server'];
      for (const option of (await namesBelow(command, '--')).filter((each) => !common.includes(each))) {
        expect(table, `${command} ${option}`).toContain(option);
      }
    }
  });

  it('has every exit code and no other', () => {
    const table = text.slice(text.indexOf('## Exit codes'), text.indexOf('## Completion'));
    const documented = [...table.matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code));
    expect(documented).toEqual(Object.values(exitCodes));
  });

  it('has examples in the help of every command that lead to commands that are there', async () => {
    const tops = (await namesBelow('')).filter((name) => name !== 'help');
    for (const name of tops) {
      const help = await terminal.run([name, '--help']);
      expect(help.code).toBe(0);
      const examples = [...help.stdout.matchAll(/^ {2}\$ belay (\S+)/gm)].map(([, first]) => first ?? '');
      const isGroup = /\[command\]/.test(help.stdout);
      if (!isGroup) expect(examples.length, name).toBeGreaterThan(0);
      for (const first of examples) expect(tops).toContain(first);
    }
  });
});
