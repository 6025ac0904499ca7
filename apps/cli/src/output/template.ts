import { printable } from '@belay/contract/printable';
import picocolors from 'picocolors';
import { CliError, usage } from '../cli-error.js';
import { createFunctions, isTrue, Styled, type TemplateFunction } from './template-functions.js';

/** Returns the text of a document. Throws `failed` when the template does not match the document. */
export type Template = (document: unknown) => string;

type Term =
  | { is: 'value'; value: unknown }
  | { is: 'field'; of: string; path: string[] }
  | { is: 'pipe'; pipe: Pipe; path: string[] }
  | { is: 'call'; name: string };
type Pipe = Term[][];
type Node =
  | { is: 'text'; text: string }
  | { is: 'print'; pipe: Pipe }
  | { is: 'set'; name: string; pipe: Pipe }
  | { is: 'if' | 'with'; pipe: Pipe; then: Node[]; otherwise: Node[] }
  | { is: 'range'; names: string[]; pipe: Pipe; then: Node[]; otherwise: Node[] };

/** Matches an action, with the marks that trim the white space beside it. */
const action = /\{\{(- )?((?:"(?:[^"\\]|\\.)*"|`[^`]*`|[^"`}]|\}(?!\}))*?)( -)?\}\}/g;
const word = /\s*(?:("(?:[^"\\]|\\.)*")|`([^`]*)`|(-?\d+(?:\.\d+)?)|(\$\w*)?((?:\.\w+)+|\.)?)/y;
const name = /\s*([A-Za-z]\w*)/y;
const sign = /\s*(:=|[|(),])/y;

/** Reads the words of one action. Throws `usage` for text that is not part of the template language. */
class Action {
  private at = 0;
  constructor(
    private readonly text: string,
    private readonly functions: Readonly<Record<string, TemplateFunction>>,
  ) {}

  private match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null || found[0].trim() === '') return undefined;
    this.at = pattern.lastIndex;
    return found;
  }

  /** Reads a word or a sign if it comes next; returns whether it did. */
  takes(wanted: string): boolean {
    const before = this.at;
    if ((this.match(/^[A-Za-z]/.test(wanted) ? name : sign)?.[1] ?? '') === wanted) return true;
    this.at = before;
    return false;
  }

  /** Reads `$name :=` or `$one, $other :=` if it comes next; returns the names. */
  variables(): string[] {
    const found = this.match(/\s*\$(\w+)(?:\s*,\s*\$(\w+))?\s*:=/y);
    return found === undefined ? [] : [found[1], found[2]].filter((each) => each !== undefined);
  }

  end(): void {
    if (this.text.slice(this.at).trim() !== '') this.fail();
  }

  pipe(): Pipe {
    const pipe = [this.command()];
    while (this.takes('|')) pipe.push(this.command());
    return pipe;
  }

  private command(): Term[] {
    const terms: Term[] = [];
    for (let term = this.term(); term !== undefined; term = this.term()) terms.push(term);
    if (terms.length === 0) this.fail();
    return terms;
  }

  private term(): Term | undefined {
    if (this.takes('(')) {
      const pipe = this.pipe();
      if (!this.takes(')')) this.fail();
      const path =
        this.match(/((?:\.\w+)+)/y)?.[1]
          ?.slice(1)
          .split('.') ?? [];
      return { is: 'pipe', pipe, path };
    }
    const called = this.match(name)?.[1];
    if (called !== undefined) {
      const constants: Readonly<Record<string, unknown>> = { true: true, false: false, nil: null };
      if (Object.hasOwn(constants, called)) return { is: 'value', value: constants[called] };
      if (!Object.hasOwn(this.functions, called)) throw usage(`--template: there is no function ${called}`);
      return { is: 'call', name: called };
    }
    const [, quoted, raw, number, variable, path] = this.match(word) ?? [];
    if (quoted !== undefined) return { is: 'value', value: unquote(quoted) };
    if (raw !== undefined) return { is: 'value', value: raw };
    if (number !== undefined) return { is: 'value', value: Number(number) };
    if (variable === undefined && path === undefined) return undefined;
    return { is: 'field', of: variable ?? '.', path: (path ?? '').split('.').filter(Boolean) };
  }

  private fail(): never {
    throw usage(`--template: cannot read ${JSON.stringify(`{{${this.text}}}`)}`);
  }
}

function unquote(text: string): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    throw usage(`--template: ${text} is not a string`);
  }
}

type Piece = { text: string } | { action: string };

/** Splits a template into texts and actions; `{{-` and `-}}` trim the white space beside them. */
function split(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  let trims = false;
  for (const found of text.matchAll(action)) {
    const before = text.slice(at, found.index);
    const left = trims ? before.trimStart() : before;
    pieces.push({ text: found[1] ? left.trimEnd() : left }, { action: found[2] ?? '' });
    at = found.index + found[0].length;
    trims = found[3] !== undefined;
  }
  const rest = text.slice(at);
  if (rest.includes('{{')) throw usage('--template: an action is not closed with }}');
  return [...pieces, { text: trims ? rest.trimStart() : rest }];
}

/** Reads the nodes up to `{{end}}` or `{{else}}`, or to the end of the template. */
class Parser {
  private at = 0;
  constructor(
    private readonly pieces: readonly Piece[],
    private readonly functions: Readonly<Record<string, TemplateFunction>>,
  ) {}

  whole(): Node[] {
    const { nodes, closed } = this.list();
    if (closed !== undefined) throw usage('--template: {{end}} or {{else}} has no beginning');
    return nodes;
  }

  private list(): { nodes: Node[]; closed: Action | undefined; by: 'end' | 'else' | undefined } {
    const nodes: Node[] = [];
    while (this.at < this.pieces.length) {
      const piece = this.pieces[this.at++] as Piece;
      if ('text' in piece) nodes.push({ is: 'text', text: piece.text });
      else if (!/^\s*\/\*[\s\S]*\*\/\s*$/.test(piece.action)) {
        const read = new Action(piece.action, this.functions);
        if (read.takes('end')) return { nodes, closed: read, by: 'end' };
        if (read.takes('else')) return { nodes, closed: read, by: 'else' };
        nodes.push(this.node(read));
      }
    }
    return { nodes, closed: undefined, by: undefined };
  }

  private node(read: Action): Node {
    for (const is of ['range', 'if', 'with'] as const) if (read.takes(is)) return this.block(is, read);
    const [variable] = read.variables();
    const pipe = read.pipe();
    read.end();
    return variable === undefined ? { is: 'print', pipe } : { is: 'set', name: `$${variable}`, pipe };
  }

  private block(is: 'range' | 'if' | 'with', read: Action): Node {
    const names = is === 'range' ? read.variables().map((each) => `$${each}`) : [];
    const pipe = read.pipe();
    read.end();
    const { nodes: then, closed, by } = this.list();
    if (closed === undefined) throw usage(`--template: {{${is}}} has no {{end}}`);
    let otherwise: Node[] = [];
    if (by === 'else') {
      if (closed.takes('if')) otherwise = [this.block('if', closed)];
      else otherwise = this.rest(is);
    }
    return is === 'range' ? { is, names, pipe, then, otherwise } : { is, pipe, then, otherwise };
  }

  private rest(is: string): Node[] {
    const { nodes, by } = this.list();
    if (by !== 'end') throw usage(`--template: {{${is}}} has no {{end}}`);
    return nodes;
  }
}

type Scope = Readonly<Record<string, unknown>>;

function follow(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const field of path) {
    if (at === null || at === undefined) return undefined;
    if (typeof at !== 'object') throw new CliError('failed', `--template: ${field} is not a field of a ${typeof at}`);
    at = Object.hasOwn(at, field) ? (at as Record<string, unknown>)[field] : undefined;
  }
  return at;
}

/**
 * Parses a template in the language of Go and `gh`: fields, variables, pipes, `if`, `with`, `range` and functions. Throws `usage` for a
 * template that cannot be parsed. Control characters of the document do not reach a terminal.
 */
export function parseTemplate(
  text: string,
  { terminal, colour, clock }: { terminal: boolean; colour: boolean; clock(): Date },
): Template {
  const colours = picocolors.createColors(colour && terminal);
  const shown = (value: string) => (terminal ? printable(value) : value);
  const functions = createFunctions({ colours, clock, shown });
  const nodes = new Parser(split(text), functions).whole();

  const evaluate = (term: Term, scope: Scope): unknown => {
    if (term.is === 'value') return term.value;
    if (term.is === 'call') return functions[term.name]?.();
    if (term.is === 'pipe') return follow(evaluatePipe(term.pipe, scope), term.path);
    if (!Object.hasOwn(scope, term.of)) throw new CliError('failed', `--template: ${term.of} is not defined`);
    return follow(scope[term.of], term.path);
  };
  const evaluatePipe = (pipe: Pipe, scope: Scope): unknown => {
    let value: unknown;
    for (const [index, [first, ...rest]] of pipe.entries()) {
      const given = [...rest.map((term) => evaluate(term, scope)), ...(index === 0 ? [] : [value])];
      if (first === undefined) continue;
      if (first.is === 'call') value = functions[first.name]?.(...given);
      else if (given.length > 0) throw new CliError('failed', '--template: only a function takes values');
      else value = evaluate(first, scope);
    }
    return value;
  };
  const print = (value: unknown): string => {
    if (value === null || value === undefined) return '';
    if (value instanceof Styled) return value.text;
    return shown(typeof value === 'object' ? JSON.stringify(value) : String(value));
  };
  const render = (list: readonly Node[], outer: Scope): string => {
    let scope = outer;
    return list
      .map((node) => {
        if (node.is === 'text') return node.text;
        if (node.is === 'print') return print(evaluatePipe(node.pipe, scope));
        const value = evaluatePipe(node.pipe, scope);
        if (node.is === 'set') {
          scope = { ...scope, [node.name]: value };
          return '';
        }
        if (!isTrue(value)) return render(node.otherwise, scope);
        if (node.is === 'if') return render(node.then, scope);
        if (node.is === 'with') return render(node.then, { ...scope, '.': value });
        if (node.is !== 'range' || typeof value !== 'object')
          throw new CliError('failed', '--template: range needs a list');
        return Object.entries(value as object)
          .map(([key, item]) => {
            const at = Array.isArray(value) ? Number(key) : key;
            const [one, other] = node.names;
            const named = other === undefined ? { ...(one && { [one]: item }) } : { [one ?? '']: at, [other]: item };
            return render(node.then, { ...scope, ...named, '.': item });
          })
          .join('');
      })
      .join('');
  };
  return (document) => render(nodes, { '.': document, $: document });
}
