import { type Column, SQL, type SQLWrapper, sql, type Table } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import type { Database, Transaction } from './client.js';
import type { Statement } from './in-order.js';

/** A parameter; a list or an object is sent as JSON text that the statement casts. */
type Parameter = string | number | boolean | null;
/** What a text may contain: another text, a table or a column by its name, or a parameter. */
type Slot = SqlText | Table | Column | Parameter;

/**
 * A statement, or a part of one, whose text is built only once. `db.execute` of the query builder builds a text anew
 * each time; here the templates of a statement are compared by identity, and only their parameters are collected. Used
 * for the statements of an elevation, which are long and few (docs/decisions/0089). Inside a statement of the query
 * builder it behaves as any other SQL.
 */
export class SqlText implements SQLWrapper {
  constructor(
    readonly texts: readonly string[],
    readonly slots: readonly Slot[],
    /** Identifies the text of this part; parts with the same key have the same texts. */
    readonly key: unknown = texts,
  ) {}

  getSQL(): SQL {
    const chunks = this.texts.flatMap((text, index) => {
      const slot = this.slots[index];
      return slot === undefined ? [sql.raw(text)] : [sql.raw(text), sql`${slot}`];
    });
    return new SQL(chunks);
  }

  /** Tells the query builder to put no parentheses around the part, because it is not an expression. */
  shouldOmitSQLParens(): boolean {
    return true;
  }
}

/** Writes a statement or a part of one: `sqlText\`select ${column} from ${table} where id = ${id}\``. */
export function sqlText(texts: TemplateStringsArray, ...slots: Slot[]): SqlText {
  return new SqlText(texts, slots);
}

/** Joins parts with a separator between them. */
export function joinTexts(parts: readonly SqlText[], separator: ', ' | ' and '): SqlText {
  const between = Array.from({ length: Math.max(0, parts.length - 1) }, () => separator);
  return new SqlText(['', ...between, ''], parts, `joined ${parts.length}${separator}`);
}

/** Inserts a name or an expression unchanged. It is not escaped, so it must never contain input from outside. */
export function rawText(text: string): SqlText {
  return new SqlText([text], [], `raw ${text}`);
}

/** Sends a statement immediately; returns the rows as the driver returns them. */
export function execute<Row extends object>(db: Database | Transaction, text: SqlText): Promise<Row[]> {
  const { compiled, parameters } = compile(text);
  return clientOf(db).unsafe(compiled, parameters) as Promise<Row[]>;
}

/** Returns a statement for `inOrder` and `commitWith`, which send it. */
export function statementOf<Row extends object>(db: Database | Transaction, text: SqlText): Statement<Row[]> {
  return { execute: () => execute<Row>(db, text) };
}

interface Client {
  unsafe(text: string, parameters: readonly Parameter[]): Promise<unknown>;
}

/** Returns the driver's client of a pool or a transaction, with the method that the query builder calls. */
function clientOf(db: Database | Transaction): Client {
  return (db._.session as unknown as { client: Client }).client;
}

/** A node in the tree of all texts so far; the path to it is the list of templates of a text, in order. */
interface Node {
  next: Map<unknown, Node>;
  compiled: string | undefined;
}

const root: Node = { next: new Map(), compiled: undefined };
const parameterKey = Symbol('parameter');

/** Returns the text with `$1`, `$2` … and their parameters. */
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

/** Returns the name of a table or a column, as the query builder writes it. */
function nameOf(part: Table | Column): string {
  return dialect.sqlToQuery(sql`${part}`).sql;
}
