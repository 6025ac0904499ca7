import { posix } from 'node:path';
import type { Tree } from './tree.js';

/** Returns the anchors that headings get where the documents are read: lower case, words joined by `-`, a number for a repetition. */
function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ''] of withoutCode(markdown).matchAll(/^#{1,6} +(.+)$/gm)) {
    const text = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = text.replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-');
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count += 1) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}

const withoutCode = (markdown: string) => markdown.replace(/^ *```[\s\S]*?^ *```/gm, '');
const isDocument = (path: string) => path.endsWith('.md');

/** Returns links of documents that lead to no existing file or heading. */
export function checkLinks(tree: Tree): string[] {
  const faults: string[] = [];
  for (const [path, text] of tree) {
    if (!isDocument(path)) continue;
    for (const [, link = ''] of withoutCode(text).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? path : posix.join(posix.dirname(path), file).replace(/\/$/, '');
      const found = tree.get(target);
      if (found === undefined) {
        if (![...tree.keys()].some((each) => each.startsWith(`${target}/`)))
          faults.push(`${path} links ${link}: no such file`);
      } else if (anchor !== undefined && !anchorsOf(found).has(anchor))
        faults.push(`${path} links ${link}: no such heading`);
    }
  }
  return faults;
}

/** Returns the text of the numbered sections (`## 4. Executions`), by their numbers. */
function sectionsOf(markdown: string): Map<number, string> {
  const parts = withoutCode(markdown).split(/^## (?=\d+\. )/m);
  return new Map(parts.slice(1).map((part) => [Number.parseInt(part, 10), part.slice(part.indexOf('\n'))]));
}

const isCiting = (path: string) =>
  /^(packages|apps|bench|chaos|pack|build|examples|test|patches)\/.*\.(ts|tsx|js|mjs)$/.test(path) &&
  !/^test\/(architecture\/|(architecture|english)\.test\.ts$)/.test(path);

/**
 * Returns citations in code that do not resolve: documents, their sections and rules, decisions. Citations of RFCs are not
 * checked.
 */
export function checkCitations(tree: Tree): string[] {
  const faults: string[] = [];
  const decisions = new Set([...tree.keys()].map((path) => numberOf(path)));
  for (const [path, source] of tree) {
    if (!isCiting(path)) continue;
    // A citation may continue in the next line of its comment.
    const text = source.replace(/\n\s*(\*(?!\/)|\/\/) ?/g, ' ');
    const fault = (what: string) => faults.push(`${path} cites ${what}`);
    for (const [cited] of text.matchAll(/(?<!RFC \d{3,5} )§ ?[\d.]+|\binterface, rule \d+/g))
      fault(`${cited}, which does not say of which document of the repository`);
    for (const [, number = ''] of text.matchAll(/\bdecisions?[ /](\d{4})\b/g))
      if (!decisions.has(number)) fault(`decision ${number}, which does not exist`);
    const citation = /\b((?:docs\/[\w./-]+|[A-Z]+)\.md)(?:, sections? (\d+)(?:, rules? (\d+)| and (\d+))?)?/g;
    for (const [, document = '', section, rule, second] of text.matchAll(citation)) {
      const found = tree.get(document) ?? tree.get(posix.join(posix.dirname(path), document));
      if (found === undefined) fault(`${document}, which does not exist`);
      else
        for (const each of [section, second]) {
          const part = each === undefined ? '' : sectionsOf(found).get(Number(each));
          if (part === undefined) fault(`${document}, section ${each}, which does not exist`);
          else if (rule !== undefined && each === section && !new RegExp(`^${rule}\\. `, 'm').test(part))
            fault(`${document}, section ${each}, rule ${rule}, which does not exist`);
        }
    }
  }
  return faults;
}

const numberOf = (path: string) => /^docs\/decisions\/(\d{4})-[^/]*\.md$/.exec(path)?.[1];

/**
 * Returns faults of decision notes. The list names each note by its number and title, in order; no number is missing or used twice;
 * and a note that was replaced is marked in the note and in the list.
 */
export function checkDecisions(tree: Tree): string[] {
  const list = tree.get('docs/decisions/README.md') ?? '';
  const notes = [...tree].flatMap(([path, text]) => {
    const number = numberOf(path);
    return number === undefined ? [] : [{ number, file: posix.basename(path), text }];
  });
  const faults: string[] = [];
  const numbers = notes.map(({ number }) => number).sort();
  const twice = numbers.filter((number, nth) => numbers[nth - 1] === number);
  faults.push(...twice.map((number) => `decision ${number} is there twice`));
  for (let number = 1; number <= Number(numbers.at(-1) ?? 0); number += 1) {
    const text = String(number).padStart(4, '0');
    if (!numbers.includes(text)) faults.push(`decision ${text} is missing`);
  }
  const listed = [...list.matchAll(/^- \[(\d{4})\]/gm)].map(([, number = '']) => number);
  if (listed.join() !== [...listed].sort().join())
    faults.push('the list of decisions is not in the order of its numbers');
  for (const { number, file, text } of notes) {
    const title = /^# (\d{4}) · (.+)$/m.exec(text);
    if (title?.[1] !== number) faults.push(`${file} has no heading with its number`);
    const line = list.split('\n').find((each) => each.startsWith(`- [${number}](${file}) ${title?.[2]}`));
    const by = /^\*Replaced(?: in part)? by \[(\d{4})\]/m.exec(text)?.[1];
    if (line === undefined) faults.push(`the list of decisions lacks "[${number}](${file}) ${title?.[2]}"`);
    else if ((/ \(replaced(?: in part)? by (\d{4})\)$/.exec(line)?.[1] ?? undefined) !== by)
      faults.push(`${file} and the list of decisions do not agree by what it is replaced`);
    if (by !== undefined && !numbers.includes(by)) faults.push(`${file} is replaced by ${by}, which does not exist`);
  }
  return faults;
}

/** Returns operations of docs/interface.md that are not declared with this method and path. */
export function checkInterface(tree: Tree): string[] {
  const declared = new Set<string>();
  for (const [path, text] of tree)
    if (/^packages\/(api|agent|contract)\/src\/.*\.ts$/.test(path))
      for (const [, method, route] of text.matchAll(/\bmethod: '([A-Z]+)',\s*path: '([^']+)'/g))
        declared.add(`${method} ${route}`);
  const documented = tree.get('docs/interface.md') ?? '';
  return [...documented.matchAll(/^\|(.*?)\|/gm)]
    .flatMap(([, cell = '']) => [...cell.matchAll(/`([A-Z]+ \/[^`]+)`/g)])
    .flatMap(([, operation = '']) =>
      declared.has(operation) ? [] : [`docs/interface.md lists ${operation}, which nothing declares`],
    );
}
