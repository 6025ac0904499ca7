import { type Column, SQL, type SQLWrapper, sql, type Table } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { Database, Transaction } from './client.js';
import type { Statement } from './in-order.js';

/** A parameter; a list or an object travels as JSON text that the statement casts. */
type Parameter = string | number | boolean | null;
/** What may stand in a text: another text, a table or a column by its name, or a parameter. */
type Slot = SqlText | Table | Column | Parameter;

/**
 * A statement, or a part of one, whose text is put together once. `db.execute` of the query builder builds a text anew each
 * time; here the templates that it consists of are compared by identity, and only their parameters are collected. For the
 * statements of an elevation, which are long and few (docs/decisions/0089). Inside a statement of the query builder it is SQL
 * as any other.
 */
export class SqlText implements SQLWrapper {
  constructor(
    readonly texts: readonly string[],
    readonly slots: readonly Slot[],
    /** What tells this part from others; parts with the same key have the same texts. */
    readonly key: unknown = texts,
  ) {}

  getSQL(): SQL {
    const chunks = this.texts.flatMap((text, index) => {
      const slot = this.slots[index];
      return slot === undefined ? [sql.raw(text)] : [sql.raw(text), sql`${slot}`];
    });
    return new SQL(chunks);
  }

  /** Parts of statements are no expressions: the query builder puts no parentheses around them. */
  shouldOmitSQLParens(): boolean {
    return true;
  }
}

/** Writes a statement or a part of one: `sqlText\`select ${column} from ${table} where id = ${id}\``. */
export function sqlText(texts: TemplateStringsArray, ...slots: Slot[]): SqlText {
  return new SqlText(texts, slots);
}

/** Puts parts one after the other, with a separator between them. */
export function joinTexts(parts: readonly SqlText[], separator: ', ' | ' and '): SqlText {
  const between = Array.from({ length: Math.max(0, parts.length - 1) }, () => separator);
  return new SqlText(['', ...between, ''], parts, `joined ${parts.length}${separator}`);
}

/** A name or an expression as it stands. Never of anything that came from outside: it is not escaped. */
export function rawText(text: string): SqlText {
  return new SqlText([text], [], `raw ${text}`);
}

/** Sends a statement at once; the rows are as the driver returns them. */
export function execute<Row extends object>(db: Database | Transaction, text: SqlText): Promise<Row[]> {
  const { compiled, parameters } = compile(text);
  return clientOf(db).unsafe(compiled, parameters) as Promise<Row[]>;
}

/** The same as a statement that `inOrder` and `commitWith` send. */
export function statementOf<Row extends object>(db: Database | Transaction, text: SqlText): Statement<Row[]> {
  return { execute: () => execute<Row>(db, text) };
}

interface Client {
  unsafe(text: string, parameters: readonly Parameter[]): Promise<unknown>;
}

/** The driver's client of a pool or a transaction, as the query builder calls it. */
function clientOf(db: Database | Transaction): Client {
  return (db._.session as unknown as { client: Client }).client;
}

/** A place in the tree of all texts so far; the way to it says which templates a text consists of, in order. */
interface Node {
  next: Map<unknown, Node>;
  compiled: string | undefined;
}

const root: Node = { next: new Map(), compiled: undefined };
const parameterKey = Symbol('parameter');

/** Returns the text with `$1`, `$2` … and what stands for them. */
function compile(text: SqlText): { compiled: string; parameters: Parameter[] } {
  const parameters: Parameter[] = [];
  const node = follow(root, text, parameters);
  node.compiled ??= write(text, { parameters: 0 }).trim();
  return { compiled: node.compiled, parameters };
}

function follow(from: Node, { key, slots }: SqlText, parameters: Parameter[]): Node {
  let node = step(from, key);
  for (const slot of slots) {
    if (slot instanceof SqlText) node = follow(node, slot, parameters);
    else if (typeof slot === 'object' && slot !== null) node = step(node, slot);
    else {
      parameters.push(slot);
      node = step(node, parameterKey);
    }
  }
  return node;
}

function step(from: Node, key: unknown): Node {
  let node = from.next.get(key);
  if (!node) {
    node = { next: new Map(), compiled: undefined };
    from.next.set(key, node);
  }
  return node;
}

function write({ texts, slots }: SqlText, count: { parameters: number }): string {
  let written = '';
  for (const [index, text] of texts.entries()) {
    written += text;
    const slot = slots[index];
    if (slot === undefined) continue;
    if (slot instanceof SqlText) written += write(slot, count);
    else if (typeof slot === 'object' && slot !== null) written += nameOf(slot);
    else written += `$${++count.parameters}`;
  }
  return written;
}

const dialect = new PgDialect();

/** The name of a table or a column, as the query builder writes it. */
function nameOf(part: Table | Column): string {
  return dialect.sqlToQuery(sql`${part}`).sql;
}
