import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openTerminal, silent, type Terminal } from './support/run.js';
import { entry, type Service, startService } from './support/service.js';

let service: Service;
let terminal: Terminal;
const [one, other] = ['0197aaaa-0000-7000-8000-000000000001', '0197aabb-0000-7000-8000-000000000002'] as const;

beforeEach(async () => {
  service = await startService();
  terminal = await openTerminal({ server: service.url, token: service.token });
  service.state.approvals = [
    { ...entry, id: one, execution_id: 'x-1' },
    { ...entry, id: other, execution_id: 'x-2', role: 'ledger-readonly' },
  ];
});
afterEach(async () => {
  await terminal[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

describe('an id', () => {
  it('may be the beginning of one request, and is rejected with the ids when it begins several', async () => {
    const ambiguous = await terminal.run(['deny', '0197aa']);
    expect(ambiguous).toMatchObject({ code: 2, stderr: expect.stringContaining(`${one}, ${other}`) });
    expect(service.changes).toEqual([]);
    expect(await terminal.run(['deny', '0197aab'])).toMatchObject({ code: 0 });
    expect(service.changes).toMatchObject([{ input: { id: other, verdict: 'deny' } }]);
    expect(await terminal.run(['deny', '0198'])).toMatchObject({ code: 5 });
  });

  it('is picked on a terminal when approve and deny have none', async () => {
    const labels: string[] = [];
    const prompts = {
      ...silent,
      select: async (_question: string, choices: { value: string; label: string }[]) => {
        labels.push(...choices.map(({ label }) => label));
        return other;
      },
    };
    expect(await terminal.run(['deny'], { interactive: true, prompts })).toMatchObject({ code: 0 });
    expect(labels).toEqual(['Ada: reporting-readonly for 20s', 'Ada: ledger-readonly for 20s']);
    expect(service.changes).toMatchObject([{ input: { id: other } }]);
    expect(await terminal.run(['deny'])).toMatchObject({ code: 2 });
  });

  it('leads to the page of the request, and none to the first page', async () => {
    const opened: string[] = [];
    const openBrowser = (url: string) => void opened.push(url);
    await terminal.run(['open', 'e-'], { openBrowser });
    await terminal.run(['open'], { openBrowser });
    expect(opened).toEqual([`${service.url}/requests/e-1`, `${service.url}/`]);
  });
});
