import { describe, expect, it } from 'vitest';
import { describeAgo } from '../src/duration.js';
import { type FormatOptions, type Items, readFormat } from '../src/output/format.js';
import { createOutput } from '../src/output/output.js';
import { loadJq, screen } from './support/run.js';

const now = new Date('2030-01-01T00:00:00.000Z');
const document = {
  next: null,
  executions: [
    {
      workflow_id: 'e-1',
      role: 'reader',
      state: 'active',
      reason: 'month\u001b[2J end\u009b31m',
      at: '2029-12-31T23:00:00.000Z',
    },
    { workflow_id: 'e-2', role: 'writer', state: 'ended', reason: '日本語', at: '2030-01-01T00:05:00.000Z' },
  ],
};
/** Returns the characters of a text that could drive a terminal. */
const controls = (text: string) => text.match(/\p{Cc}/gu)?.filter((character) => !'\n\t'.includes(character)) ?? [];
const escapeCharacter = String.fromCharCode(27);
const colourCode = new RegExp(`${escapeCharacter}\\[\\d+m`, 'g');
const items: Items = ({ executions }) => executions;

async function print(options: FormatOptions, around: { terminal?: boolean; colour?: boolean } = {}): Promise<string> {
  const format = await readFormat(options, {
    items,
    terminal: around.terminal ?? false,
    colour: around.colour ?? false,
    clock: () => now,
    loadJq,
  });
  return format?.(document) ?? 'for people';
}

describe('--json', () => {
  it('prints the whole document, or the fields of each item', async () => {
    expect(await print({})).toBe('for people');
    expect(JSON.parse(await print({ json: '' }))).toEqual(document);
    expect(await print({ json: 'role,state' })).toBe(
      '[{"role":"reader","state":"active"},{"role":"writer","state":"ended"}]',
    );
  });

  it('rejects a field that no item has, and says which there are', async () => {
    await expect(print({ json: 'role,colour' })).rejects.toThrow(
      '--json: "colour" is not a field; available: at, reason, role, state, workflow_id',
    );
  });
});

describe('--jq', () => {
  it('prints what the program makes of the JSON: strings without quotes, other values as JSON', async () => {
    expect(await print({ jq: '.executions[] | .role, {state}' })).toBe(
      'reader\n{"state":"active"}\nwriter\n{"state":"ended"}',
    );
    expect(await print({ json: 'role', jq: '.[1].role' })).toBe('writer');
    expect(await print({ jq: 'empty' })).toBe('');
    expect(await print({ jq: 'def last: .executions[-1]; last.role # the newest' })).toBe('writer');
  });

  it('rejects a program that does not compile before anything else, and reports what fails while it runs', async () => {
    await expect(
      readFormat(
        { jq: '.[' },
        {
          items,
          terminal: false,
          colour: false,
          clock: () => now,
          loadJq,
        },
      ),
    ).rejects.toThrow(/^--jq: .*syntax error/);
    await expect(print({ jq: '.next.a.b | error("no such thing")' })).rejects.toThrow('--jq: no such thing');
    await expect(print({ jq: '.', template: '.' })).rejects.toThrow('cannot be used together');
  });

  it('does not let text of other people drive a terminal, and leaves it alone elsewhere', async () => {
    const shown = await print({ jq: '.executions[0].reason, .executions[0]' }, { terminal: true });
    expect(controls(shown)).toEqual([]);
    expect(shown.split('\n')[0]).toBe('month\\u{1b}[2J end\\u{9b}31m');
    expect(await print({ jq: '.executions[0].reason' })).toBe(document.executions[0]?.reason);
  });
});

describe('--template', () => {
  it('has fields, pipes, variables, range, if, with and functions as in gh', async () => {
    const cases: [template: string, printed: string][] = [
      ['{{range .executions}}{{.role}} {{timeago .at}}{{"\\n"}}{{end}}', 'reader 1h ago\nwriter in 5m'],
      ['{{range $i, $e := .executions}}{{if $i}}, {{end}}{{$e.role | upper}}{{end}}', 'READER, WRITER'],
      [
        '{{range .executions}}{{if eq .state "active"}}yes{{else if eq .state "ended"}}no{{else}}?{{end}}{{end}}',
        'yesno',
      ],
      ['{{with .next}}{{.}}{{else}}the last page{{end}}', 'the last page'],
      ['{{len .executions}} {{join ", " (pluck "role" .executions)}}', '2 reader, writer'],
      ['{{ /* nothing */ -}}   {{ (index .executions 1).role }}', 'writer'],
      ['{{$x := .executions}}{{range $x}}{{truncate 4 .reason}}|{{end}}{{$.next}}', 'mon…|日…|'],
      [
        '{{range .executions}}{{tablerow .workflow_id (truncate 4 .reason) .role}}{{end}}{{tablerender}}',
        'e-1  mon…  reader\ne-2  日…   writer',
      ],
      ['{{json (index .executions 1).role}} {{`{{raw}}`}} {{"}}"}}', '"writer" {{raw}} }}'],
    ];
    for (const [template, printed] of cases) expect(await print({ template }), template).toBe(printed);
  });

  it.each([
    '{{',
    '{{range .a}}',
    '{{end}}',
    '{{.a | }}',
    '{{nothing .a}}',
    '{{if .a}}{{else}}',
    '{{(.a}}',
    '{{"\\x"}}',
    '{{.a ]}}',
  ])('rejects %j before anything is sent', async (template) => {
    await expect(print({ template })).rejects.toThrow(/^--template: /);
  });

  it('colours only for a terminal, and shows control characters of the document as text there', async () => {
    const template = '{{range .executions}}{{color "red" .reason}}{{.reason}}{{end}}';
    expect(await print({ template })).not.toContain('\u001b[31m');
    const shown = await print({ template }, { terminal: true, colour: true });
    expect(shown).toContain('\u001b[31mmonth\\u{1b}[2J end\\u{9b}31m\u001b[39m');
    expect(controls(shown.replaceAll(colourCode, ''))).toEqual([]);
    const rows = '{{range .executions}}{{tablerow .reason}}{{end}}{{tablerender}}';
    expect(controls(await print({ template: rows }, { terminal: true }))).toEqual([]);
  });
});

describe('a table', () => {
  const ids = [
    '01970000-0000-7000-8000-000000000001',
    '01970000-0000-7000-8000-000000000002',
    '01970000-0001-7000-8000-000000000003',
  ];
  const table = (columns: number | undefined) => {
    const sink = columns === undefined ? { write: () => {} } : screen(columns);
    const output = createOutput({ stdout: sink, stderr: sink, format: undefined, clock: () => now, colour: true });
    return output.table(
      ['Request', 'Role', 'Requested', 'For', 'Reason'],
      output
        .ids(ids)
        .map((id, index) => [
          id,
          'reporting-readonly',
          output.time(new Date(now.getTime() - index * 3_600_000).toISOString()),
          output.duration('PT1H30M'),
          index === 1
            ? '日本語のテキストは幅が二倍です 日本語のテキストは'
            : 'the figures of the month are wrong \u001b[31m',
        ]),
      'None',
    );
  };

  it('has short ids that tell requests apart and times from now on a terminal; neither in a pipe', () => {
    const shown = table(160);
    expect(shown).toContain('01970000-0001');
    expect(shown).not.toContain(ids[2]);
    expect(shown).toContain(ids[0]);
    expect(shown).toMatch(/now .*1h 30m/);
    expect(shown).toContain('2h ago');
    const piped = table(undefined)
      .split('\n')
      .map((line) => line.split('\t'));
    expect(piped.map(([id, , at, duration]) => [id, at, duration])).toEqual([
      [ids[0], '2030-01-01T00:00:00.000Z', 'PT1H30M'],
      [ids[1], '2029-12-31T23:00:00.000Z', 'PT1H30M'],
      [ids[2], '2029-12-31T22:00:00.000Z', 'PT1H30M'],
    ]);
    expect(table(undefined)).not.toContain('\u001b');
  });

  it.each([40, 80, 120])('breaks no word and leaves no colour open on a terminal of %i columns', (columns) => {
    for (const line of table(columns).split('\n')) {
      const opened = line.match(colourCode) ?? [];
      expect(opened.length % 2, line).toBe(0);
      expect(line).not.toMatch(/[─│┌]/);
    }
    const words = table(columns).replaceAll(colourCode, '').split(/\s+/);
    for (const word of ['reporting-readonly', '01970000-0001', ids[0], 'figures', '\\u{1b}[31m'])
      expect(words).toContain(word);
  });
});

describe('a time', () => {
  it('is told in its largest unit from now', () => {
    const told = ['2029-12-31T23:59:59.900Z', '2029-12-30T20:00:00Z', '2030-01-01T06:59:00Z', 'soon', null];
    expect(told.map((time) => describeAgo(time, now))).toEqual(['now', '1d ago', 'in 6h', undefined, undefined]);
  });
});
