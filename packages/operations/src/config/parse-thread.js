// Parses one long text of YAML, which would block the event loop for seconds, and sends the content in small pieces, because
// reading a large message would block the event loop too. With `paths`, sends the places of these paths instead.
import { serialize } from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { findPlaces, parseText } from './parse-text.js';

/** How many entries of a section are one piece. */
const together = 50;

const { text, paths } = workerData;
if (paths !== undefined) parentPort?.postMessage(findPlaces(text, paths));
else {
  const parsed = parseText(text);
  parentPort?.postMessage('content' in parsed ? { pieces: piecesOf(parsed.content) } : parsed);
}

/**
 * @param {unknown} content
 * @returns {Uint8Array[]}
 */
function piecesOf(content) {
  // Content that is not a mapping is rejected later.
  if (!isMapping(content)) return [serialize({ whole: content })];
  return Object.entries(content).flatMap(([section, value]) => {
    const entries = isMapping(value) ? Object.entries(value) : [];
    if (entries.length === 0) return [serialize({ section, value })];
    const pieces = [];
    for (let from = 0; from < entries.length; from += together) {
      pieces.push(serialize({ section, entries: entries.slice(from, from + together) }));
    }
    return pieces;
  });
}

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
function isMapping(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
