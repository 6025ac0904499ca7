import { parseSync } from 'oxc-parser';
import { bannedPhrases, notVerbs, quoting } from './english-words.mjs';

/**
 * Returns where sources and documents break the rules of our English, as `path:line: what is wrong`: a banned phrase in a text,
 * comment or document; an exported function whose docstring does not start with a verb in the third person; a text of a page
 * that is not in the catalogue of texts.
 *
 * @param {ReadonlyMap<string, string>} tree
 * @returns {string[]}
 */
export function checkEnglish(tree) {
  const faults = [];
  for (const [path, source] of tree) {
    if (path in quoting) continue;
    const fault = (at, what) => faults.push(`${path}:${source.slice(0, at).split('\n').length}: ${what}`);
    for (const { at, text } of passagesOf(path, source)) {
      if (!anyPhrase.test(text)) continue;
      for (const [pattern, instead] of phrases)
        for (const found of text.matchAll(pattern))
          fault(at + found.index, `"${found[0].replace(/\s+/g, ' ')}": ${instead}`);
    }
    if (!isCode(path)) continue;
    for (const [at, word] of docstringsOf(path, source)) fault(at, docstringFault(word));
    if (isPage(path))
      for (const { at, text } of codePassages(path, source, [])) if (isSentence(text)) fault(at, pageFault(text));
  }
  return faults;
}

/**
 * Returns the texts of a source that people see, each with its line: strings with words in them, templates whole, and no statements
 * of SQL.
 *
 * @param {string} path
 * @param {string} source
 * @returns {{ line: number, text: string }[]}
 */
export function textsOf(path, source) {
  const texts = [];
  visit(parse(path, source).program, (node) => {
    if (node.type === 'ImportDeclaration' || node.type === 'TaggedTemplateExpression') return false;
    const isText = (node.type === 'Literal' && typeof node.value === 'string') || node.type === 'JSXText';
    if (!isText && node.type !== 'TemplateLiteral') return true;
    const text = source.slice(node.start, node.end).trim().replace(/\s+/g, ' ');
    const isSql =
      /^['"`](select|insert|update|delete|with|create|alter|drop|grant|revoke|set|lock) [^.]* (from|into|table|on|role|to)\b/i;
    if (/[A-Za-z]{2,}[,.:;)]* +[^ ]*[A-Za-z$]/.test(text) && !isSql.test(text))
      texts.push({ line: source.slice(0, node.start).split('\n').length, text });
    return !isText;
  });
  return texts;
}

/** A phrase may continue in the next line. */
const acrossLines = (pattern) => new RegExp(pattern.source.replaceAll(' ', '\\s+'), 'gi');
const phrases = bannedPhrases.map(([pattern, instead]) => [acrossLines(pattern), instead]);
/** All phrases in one pattern: it is tried first, because nearly all of a hundred thousand passages contain no phrase. */
const anyPhrase = new RegExp(phrases.map(([{ source }]) => `(?:${source})`).join('|'), 'i');

const docstringFault = (word) =>
  `the docstring of an exported function starts with "${word}"; start with a verb in the third person: "Returns …"`;

const pageFault = (text) =>
  `${text.trim()} is a text of a page; put it into the texts of its package, in packages/console the file of its page in src/texts`;

/** Biome checks the texts between the tags of pages; this check is for those in strings. */
const isPage = (path) =>
  /^packages\/(console\/src\/.*\.(ts|tsx|js)|agent\/src\/.*\.tsx)$/.test(path) && !path.includes('/src/texts/');
const isSentence = (text) => /^['"`]?\s*[A-Z][a-z]* [a-z]/.test(text);

// Bundles are left out, because their sources are checked.
const isCode = (path) => /\.(ts|tsx|js|mjs)$/.test(path) && !/\/(ctk|bundle)\//.test(path);
const isDocument = (path) => path.endsWith('.md') && !path.includes('/node_modules/');

function passagesOf(path, source) {
  if (isDocument(path))
    return [{ at: 0, text: blank(source, [/^ *```[\s\S]*?^ *```/gm, /`[^`\n]+`/g, /\]\([^)\s]+\)/g]) }];
  return isCode(path) ? codePassages(path, source) : [];
}

/** Returns the prose of a source: comments, and the strings with a space in them. Identifiers, codes and code spans are left out. */
function codePassages(path, source, comments = parse(path, source).comments) {
  const { program } = parse(path, source);
  const passages = comments.map(({ start, end }) => passage(source, start, end));
  visit(program, (node) => {
    if (node.type === 'ImportDeclaration') return false;
    const isText = (node.type === 'Literal' && typeof node.value === 'string') || node.type === 'JSXText';
    if (isText) passages.push(passage(source, node.start, node.end));
    // Without the backquotes, which would make it a code span. Only in TypeScript does the parser include them in the
    // element.
    const quotes = /\.tsx?$/.test(path) ? 1 : 0;
    if (node.type === 'TemplateElement') passages.push(passage(source, node.start + quotes, node.end - quotes));
    return true;
  });
  return passages.filter(({ text }) => /\S\s+\S/.test(text));
}

const passage = (source, start, end) => ({
  at: start,
  text: blank(source.slice(start, end), [/\n\s*(?:\*(?!\/)|\/\/)/g, /`[^`]*`/g, /https?:\S+/g]),
});

/** Replaces what the patterns find with as many spaces, so that positions stay. */
const blank = (text, patterns) =>
  patterns.reduce((rest, pattern) => rest.replace(pattern, (found) => ' '.repeat(found.length)), text);

/** Returns the first words of docstrings that do not start with a verb in the third person, with their positions. */
function docstringsOf(path, source) {
  const { program, comments } = parse(path, source);
  const found = [];
  for (const node of program.body) {
    if (node.type !== 'ExportNamedDeclaration' || !isFunction(node.declaration)) continue;
    const comment = comments.find(({ end }) => end < node.start && source.slice(end, node.start).trim() === '');
    if (comment?.type !== 'Block' || !comment.value.startsWith('*')) continue;
    const word = /^[\s*]*([^\s,.:;]*)/.exec(comment.value)?.[1] ?? '';
    if (!/^[A-Z][a-z-]*s$/.test(word) || notVerbs.has(word)) found.push([comment.start, word]);
  }
  return found;
}

function isFunction(declaration) {
  if (declaration?.type === 'FunctionDeclaration' || declaration?.type === 'TSDeclareFunction') return true;
  const [only, ...others] = declaration?.type === 'VariableDeclaration' ? declaration.declarations : [];
  return others.length === 0 && ['ArrowFunctionExpression', 'FunctionExpression'].includes(only?.init?.type);
}

/** The last parsed source, so that a source is parsed once although two rules look at it. */
let last = { path: '', source: '', parsed: undefined };
function parse(path, source) {
  if (last.path !== path || last.source !== source) last = { path, source, parsed: parseSync(path, source) };
  return last.parsed;
}

function visit(node, see) {
  if (Array.isArray(node)) for (const each of node) visit(each, see);
  else if (node !== null && typeof node === 'object' && (node.type === undefined || see(node)))
    for (const key in node) visit(node[key], see);
}
