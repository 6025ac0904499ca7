import { describe, expect, it } from 'vitest';
import { checkEnglish, textsOf } from './architecture/english.mjs';

/** Returns the faults of a small repository with one file. */
const faultsOf = (path: string, text: string) => checkEnglish(new Map([[path, text]]));
const source = 'packages/a/src/a.ts';

describe('banned phrases', () => {
  it.each([
    ['an error message', `throw new Error('It belongs to somebody else');`],
    ['a text with a gap', 'log.warn(`${name} names none of these`);'],
    ['a comment', '// The row is another by now.'],
    ['a docstring of a field', 'interface A {\n  /** The role that was asked for. */\n  a: string;\n}'],
    ['a comment of two lines', '/*\n * It names\n * none.\n */'],
    ['a test name', `it('refuses a second decision', () => {});`],
    ['a text between tags', 'const a = <p>Nothing is under way</p>;'],
  ])('are rejected in %s', (_, text) => {
    expect(faultsOf('packages/a/src/a.tsx', text)).toHaveLength(1);
  });

  it('are rejected at the start and the end of a text with a gap, in JavaScript too', () => {
    const text = 'tell(`nobody else: ${result}, said nobody`);';
    for (const path of ['examples/a.mjs', source]) expect(faultsOf(path, text)).toHaveLength(2);
  });

  it('are named with their line and what to write instead', () => {
    expect(faultsOf(source, `const a = 1;\n\n// Logged in people.`)).toEqual([
      'packages/a/src/a.ts:3: "Logged in": people sign in and out',
    ]);
    expect(faultsOf('docs/a.md', '# A\n\nNobody says no.\n')).toEqual([
      'docs/a.md:3: "Nobody": name the person or the thing: "no approver", "the requester", "in any order"',
      'docs/a.md:3: "says no": approvers approve and deny; a function returns true or false',
    ]);
  });

  it('are found on every line on which they are', () => {
    expect(faultsOf('docs/a.md', 'Nobody\nand nobody')).toHaveLength(2);
  });

  it.each([
    ['identifiers', 'const nobody = refused(whoever);'],
    ['codes', `const type = 'login.refused';`],
    ['names of modules', `import { a } from './by now/nobody else.js';`],
    ['code spans', '// A login that ends as `refused` or `login.refused`.'],
    ['values in a text', 'const a = `the result is ${nobody ? refused : b}`;'],
    ['closed ports', '// The connection is refused at a closed port; its listener refuses connections.'],
  ])('leave alone %s', (_, text) => {
    expect(faultsOf(source, text)).toEqual([]);
  });

  it('leave alone the code and the addresses in documents', () => {
    const document = '```\nnobody\n```\nSee [the page](nobody-refused.md) and `whoever`.\n';
    expect(faultsOf('docs/a.md', document)).toEqual([]);
  });
});

describe('docstrings of exported functions', () => {
  it.each([
    ['a noun', '/** The state of a request. */\nexport function stateOf() {}'],
    ['whether', '/** Whether it is open. */\nexport const isOpen = () => true;'],
    ['an imperative', '/**\n * Return the state.\n */\nexport async function state() {}'],
    ['a plural', '/** Rows of a request. */\nexport const rowsOf = function () {};'],
  ])('are rejected when they start with %s', (_, text) => {
    expect(faultsOf(source, text)).toEqual([
      expect.stringContaining('packages/a/src/a.ts:1: the docstring of an exported function starts with "'),
    ]);
  });

  it.each([
    ['a verb in the third person', '/** Returns the state. */\nexport function stateOf() {}'],
    ['that a function is for this file only', '/** The state of a request. */\nfunction stateOf() {}'],
    ['that what is exported is no function', '/** The states. */\nexport const states = new Set();'],
    ['that the function has none', 'export function stateOf() {}'],
  ])('may have %s', (_, text) => {
    expect(faultsOf(source, text)).toEqual([]);
  });
});

describe('texts of pages', () => {
  it.each([
    ['an attribute', `export const Page = () => <input title="Give a reason" />;`],
    ['an expression', `const title = open ? 'Open requests' : texts.title;`],
    ['a script', 'stop(`You are signed out`);'],
  ])('are rejected in %s', (_, text) => {
    expect(faultsOf('packages/console/src/pages/a.tsx', text)).toEqual([
      expect.stringContaining('is a text of a page'),
    ]);
    expect(faultsOf('packages/console/src/texts/access.ts', text.replace('<input', '<input '))).toEqual([]);
    expect(faultsOf('packages/a/src/pages/a.tsx', text)).toEqual([]);
  });

  it('are not seen in classes, paths of drawings and header fields', () => {
    const data = `const a = <path class="cards two" d="M11.5 6.5a6.5 6.5 0 0" />;\nconst type = 'text/css; charset=utf-8';`;
    expect(faultsOf('packages/console/src/pages/a.tsx', data)).toEqual([]);
  });
});

describe('the list of texts', () => {
  it('has what people see, with its line, templates whole, and neither statements nor single words', () => {
    const source = [
      "import { a } from 'a module';",
      "const word = 'status';",
      'const rows = sql`select id from roles where name = 1`;',
      "const other = 'select id from roles';",
      "fail('is required to remove');",
      'fail(`the server answered ${status}',
      ' twice`);',
      'const page = <p>Where access is granted</p>;',
    ].join('\n');
    expect(textsOf('packages/console/src/page.tsx', source)).toEqual([
      { line: 5, text: "'is required to remove'" },
      { line: 6, text: '`the server answered ${status} twice`' },
      { line: 8, text: 'Where access is granted' },
    ]);
  });
});
