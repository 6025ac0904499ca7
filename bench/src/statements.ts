import { elevations } from './belay/elevate.js';
import { settled } from './belay/settled.js';
import { isWriting } from './belay/statements.js';
import { elevateOverHttp } from './over-http/elevate.js';
import { serveBelay } from './over-http/serve.js';
import { openPostgres } from './postgres.js';
import type { SectionOptions, Write } from './section.js';
import { type Shape, tasksOf } from './shapes.js';

/** What core sent to its database outside a transaction, or in one. */
interface Unit {
  /** What the person did before it was sent. */
  act: string;
  connection: number;
  texts: string[];
  /** Whether it was committed with something written. */
  commits: boolean;
}

interface Sent {
  units: Unit[];
  statements: number;
  commits: number;
}

/** Records what core sends for one elevation of one person, when everything is warm and nothing else happens. */
async function recordStatements(shape: Shape, over: 'core' | 'http'): Promise<Sent> {
  let act: string | null = null;
  const units: Unit[] = [];
  const open = new Map<number, Unit>();
  const postgres = await openPostgres();
  const served = await serveBelay(await postgres.database('belay'), {
    people: 1,
    onStatement(connection, text) {
      if (act === null) return;
      const verb = /^\s*([a-z]+)/i.exec(text)?.[1]?.toLowerCase() ?? '';
      const unit = open.get(connection) ?? { act, connection, texts: [], commits: false };
      if (!open.has(connection)) units.push(unit);
      unit.texts.push(text);
      if (verb === 'begin') open.set(connection, unit);
      else if (verb === 'commit' || verb === 'rollback') open.delete(connection);
      if (verb === 'rollback') unit.commits = false;
      else unit.commits ||= isWriting(text);
    },
  });
  const { belay, access } = served;
  try {
    const [[person], [tokens]] = [belay.people, access.tokens];
    if (!person || !tokens) throw new Error('The benchmark needs people');
    const inProcess = elevations(belay);
    const once = (told?: (next: string) => void) =>
      over === 'http' ? elevateOverHttp({ url: access.url, tokens, shape, act: told }) : inProcess(person, shape, told);
    for (let warm = 0; warm < 5; warm += 1) {
      await once();
      await settled(belay);
    }
    await once((next) => {
      act = next;
    });
    await settled(belay);
    act = null;
    return {
      units,
      statements: units.reduce((sum, { texts }) => sum + texts.length, 0),
      commits: units.filter(({ commits }) => commits).length,
    };
  } finally {
    await served.close();
    await postgres.stop();
  }
}

/** Returns the recorded statements as lines: those of a transaction together, each commit with its number. */
function describeStatements({ units }: Sent): string[] {
  const lines: string[] = [];
  let act = '';
  let [nth, commit] = [0, 0];
  for (const unit of units) {
    if (unit.act !== act) lines.push('', `-- ${unit.act}`);
    act = unit.act;
    if (unit.commits) lines.push(`-- commit ${++commit}`);
    else if (unit.texts.length > 1) lines.push('-- a transaction that writes nothing');
    for (const text of unit.texts) {
      nth += 1;
      lines.push(`${String(nth).padStart(3)} c${unit.connection} ${shorten(text)}`);
    }
    if (unit.commits || unit.texts.length > 1) lines.push('--');
  }
  return lines;
}

const longest = 200;

/** Returns a statement on one line: the verbs of its parts where it has parts, and its beginning. */
function shorten(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const parts = [
    ...line.matchAll(
      /(\w+) as (?:materialized |not materialized )?\(\s*(insert into|update|delete from|select)(?: "?(\w+)"?)?/gi,
    ),
  ];
  const names = parts.map(([, name, verb, of]) => (verb?.toLowerCase() === 'select' ? name : `${name}: ${verb} ${of}`));
  const short = line.length > longest ? `${line.slice(0, longest)} …` : line;
  return /^with/i.test(line) ? `with [${names.join(', ')}] ${line.length} characters` : short;
}

/** Prints what one elevation of each shape sends. */
export async function printStatements(write: Write, { shapes, over }: SectionOptions): Promise<void> {
  for (const shape of shapes) {
    const sent = await recordStatements(shape, over);
    write(`### \`${shape}\`: ${tasksOf[shape]}: ${sent.statements} statements, ${sent.commits} commits\n`);
    write(`\`\`\`sql${describeStatements(sent).join('\n')}\n\`\`\`\n`);
  }
}
