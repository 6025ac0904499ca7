import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';

/**
 * @typedef {{ line: number, col: number }} Place
 * @typedef {{ content: unknown } | { faults: (Place & { message: string })[] } | { unreadable: string }} ParsedText
 */

/** How often the content of one anchor may be repeated. */
const maxAliasCount = 100;
/** How many mappings may be nested, or twice as many lists; later steps recurse into them. */
const maxDepth = 200;

/** Messages that replace those of the parser, which are written for programmers. */
const messages = new Map([
  ['DUPLICATE_KEY', 'the key is defined twice; a name is defined once'],
  [
    'MULTIPLE_DOCS',
    'begins a second YAML document; a file has one: remove the line, or move what follows to another file',
  ],
  ['RESOURCE_EXHAUSTION', 'is nested too deeply'],
  ['TAB_AS_INDENT', 'is indented with a tab; YAML is indented with spaces'],
]);

/**
 * Parses a text as YAML. Returns its content as plain JSON values, or its faults with their places, or why it cannot be read.
 * JavaScript, because a worker thread loads this file directly.
 *
 * @param {string} text
 * @returns {ParsedText}
 */
export function parseText(text) {
  const lines = new LineCounter();
  try {
    const document = parse(text, lines);
    const at = (/** @type {number} */ offset, /** @type {string} */ message) => ({ ...lines.linePos(offset), message });
    // Warnings count as faults too: an unknown tag would silently change the meaning of a value.
    const faults = [...document.errors, ...document.warnings].map(({ pos, code, message }) =>
      at(pos[0], messages.get(code) ?? message),
    );
    if (faults.length > 0) return { faults };
    const tangled = findTangles(document).map(({ offset, message }) => at(offset, message));
    if (tangled.length > 0) return { faults: tangled };
    return { content: document.toJS({ maxAliasCount }) };
  } catch (error) {
    if (error instanceof RangeError) return { unreadable: 'is nested too deeply' };
    if (error instanceof ReferenceError) {
      return {
        unreadable: `repeats the content of an anchor more than ${maxAliasCount} times by its aliases; write it out, or use fewer`,
      };
    }
    return { unreadable: error instanceof Error ? error.message : 'cannot be read as YAML' };
  }
}

/**
 * Returns the places of the values at these paths of the catalog (`roles.admin.providers[0]`, `workflows.w.workflow/do/0`): the place
 * of the key or list entry, of the nearest parent when the key is not written, or null when not even a parent is found.
 *
 * @param {string} text
 * @param {readonly string[]} paths
 * @returns {(Place | null)[]}
 */
export function findPlaces(text, paths) {
  const lines = new LineCounter();
  const document = parse(text, lines);
  return paths.map((path) => {
    const offset = offsetOf(document, path);
    return offset === undefined ? null : lines.linePos(offset);
  });
}

/**
 * @param {string} text
 * @param {LineCounter} lines
 */
function parse(text, lines) {
  // Without tags such as `!!binary` and `!!set`, because a configuration has only the values of JSON.
  return parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    merge: true,
    resolveKnownTags: false,
  });
}

/**
 * Finds aliases without an anchor or within their own anchor, and collections that are nested too deeply.
 *
 * @param {import('yaml').Document.Parsed} document
 * @returns {{ offset: number, message: string }[]}
 */
function findTangles(document) {
  /** @type {{ offset: number, message: string }[]} */
  const found = [];
  visit(document, {
    Alias(_key, node, path) {
      const meant = node.resolve(document);
      const name = JSON.stringify(node.source);
      const offset = node.range?.[0] ?? 0;
      if (meant === undefined) found.push({ offset, message: `the alias ${name} has no anchor before it` });
      else if (path.includes(meant)) found.push({ offset, message: `the alias ${name} is within its own anchor` });
    },
    Collection(_key, node, path) {
      if (path.length <= 2 * maxDepth) return undefined;
      found.push({ offset: node.range?.[0] ?? 0, message: 'is nested too deeply' });
      return visit.BREAK;
    },
  });
  return found;
}

/**
 * @param {import('yaml').Document.Parsed} document
 * @param {string} path
 * @returns {number | undefined}
 */
function offsetOf(document, path) {
  /** @type {unknown} */
  let node = document.contents;
  /** @type {number | undefined} */
  let offset;
  let rest = path;
  while (rest !== '') {
    if (isAlias(node)) node = node.resolve(document);
    const step = isMap(node) ? stepIntoMap(node, rest) : isSeq(node) ? stepIntoList(node, rest) : undefined;
    if (step === undefined) break;
    offset = step.offset ?? offset;
    node = step.node;
    rest = step.rest;
  }
  return offset;
}

/**
 * Returns the entry of the longest key that the path begins with, because keys may contain dots.
 *
 * @param {import('yaml').YAMLMap} map
 * @param {string} rest
 */
function stepIntoMap(map, rest) {
  const pointer = rest.startsWith('/');
  const wanted = rest.replace(/^[./]/, '');
  let best;
  for (const { key, value } of map.items) {
    if (!isScalar(key)) continue;
    const name = pointer ? String(key.value).replaceAll('~', '~0').replaceAll('/', '~1') : String(key.value);
    if (!wanted.startsWith(name) || !/^(?:$|[.[/])/.test(wanted.slice(name.length))) continue;
    if (best === undefined || name.length > best.length) {
      best = { length: name.length, offset: key.range?.[0], node: value, rest: wanted.slice(name.length) };
    }
  }
  return best;
}

/**
 * @param {import('yaml').YAMLSeq} list
 * @param {string} rest
 */
function stepIntoList(list, rest) {
  const [whole, bracketed, pointed] = /^(?:\[(\d+)\]|[./](\d+)(?=$|[./[]))/.exec(rest) ?? [];
  if (whole === undefined) return undefined;
  const node = list.items[Number(bracketed ?? pointed)];
  if (node === undefined) return undefined;
  const range = /** @type {{ range?: [number, number, number] }} */ (node).range;
  return { offset: range?.[0], node, rest: rest.slice(whole.length) };
}
