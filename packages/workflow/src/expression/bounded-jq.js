import { Buffer } from 'node:buffer';

/** Stops a program that exceeds a bound of the thread. This jq must not run another program afterwards. */
class Bound extends Error {
  /** @param {'memory' | 'output'} what */
  constructor(what) {
    super(what);
    this.what = what;
  }
}

const MEGABYTE = 1024 * 1024;
/** The most memory that jq may use: an input of 4 MB of small objects takes 220 MB. */
const MOST_MEMORY = 256 * MEGABYTE;
/** WebAssembly gives no memory back, so a thread whose memory has grown beyond this is not used again. */
const WORN_MEMORY = 64 * MEGABYTE;
const MOST_OUTPUT = 4_000_000;
const MOST_ERRORS = 4_000;
const NEWLINE = 10;

/**
 * The first character of a mark: one write to stderr with the message of an error that the program itself raised.
 * Messages of jq, which quote data, have no mark. `MARKED` redefines `error` to write the mark, for a program that uses
 * `error`.
 */
const MARK = '\u0001';
const MARKED = `def _error: error; def error: (("\\u0001" + tojson) | stderr | empty), _error; def error(f): f | error; `;

/**
 * @typedef {{ is: 'output', text: string } | { is: 'failed', exitCode: number, message: string, own: boolean }
 *   | { is: 'exceeded', what: 'memory' | 'output' } | { is: 'broken' }} Result
 */

/**
 * Loads jq with bounded memory and output. `compiled` is jq's code as compiled for another thread, to save time. jq-web
 * has no options for the bounds and the code, so its call of `WebAssembly.instantiate` is intercepted.
 * @param {object | undefined} compiled
 */
export async function loadJq(compiled) {
  /** @type {{ buffer: ArrayBuffer } | undefined} */
  let memory;
  let jqModule = compiled;
  /** @type {Buffer[]} */
  let output = [];
  let outputLength = 0;
  let results = 0;
  let errors = '';
  let mark = '';

  /** @param {number} descriptor @param {Buffer} bytes */
  function take(descriptor, bytes) {
    if (descriptor === 1) {
      outputLength += bytes.length;
      if (outputLength > MOST_OUTPUT) throw new Bound('output');
      // A program must have exactly one result, so nothing after the second result is kept.
      if (results < 2) output.push(bytes);
      if (bytes.at(-1) === NEWLINE) results += 1;
    } else {
      const text = bytes.toString('utf8', 0, MOST_ERRORS);
      if (text.startsWith(MARK)) mark = text.slice(MARK.length);
      else if (errors.length < MOST_ERRORS) errors += text;
    }
  }

  /** @param {number} descriptor @param {number} vectors @param {number} count @param {number} written */
  function write(descriptor = 0, vectors = 0, count = 0, written = 0) {
    if (!memory) return 8;
    const view = new DataView(memory.buffer);
    let total = 0;
    for (let index = 0; index < count; index += 1) {
      const start = view.getUint32(vectors + 8 * index, true);
      const length = view.getUint32(vectors + 8 * index + 4, true);
      if (length > 0) take(descriptor, Buffer.from(new Uint8Array(memory.buffer, start, length)));
      total += length;
    }
    view.setUint32(written, total, true);
    return 0;
  }

  const { instantiate } = WebAssembly;
  /** @param {Uint8Array} binary @param {Parameters<typeof instantiate>[1]} imports */
  const bounded = async (binary, imports) => {
    const grow = imports.env.emscripten_resize_heap;
    imports.env.emscripten_resize_heap = (size = 0) => {
      if (size >>> 0 > MOST_MEMORY) throw new Bound('memory');
      return grow?.(size);
    };
    imports.env.fd_write = write;
    jqModule ??= await WebAssembly.compile(binary);
    const instance = await instantiate(jqModule, imports);
    memory = instance.exports.memory;
    return { instance, module: jqModule };
  };
  WebAssembly.instantiate = /** @type {typeof instantiate} */ (/** @type {unknown} */ (bounded));
  const { default: ready } = await import('jq-web');
  const jq = await ready;
  WebAssembly.instantiate = instantiate;

  return {
    /** jq's compiled code, for the next thread. */
    module: jqModule,
    /** Returns whether jq has taken so much memory that another thread should run the next program. */
    isWorn: () => (memory?.buffer.byteLength ?? 0) > WORN_MEMORY,
    /**
     * Runs a program; `raises` is whether it may call `error`.
     * @param {string} program @param {string} input @param {boolean} raises
     * @returns {Result}
     */
    run(program, input, raises) {
      output = [];
      outputLength = 0;
      results = 0;
      errors = '';
      mark = '';
      try {
        jq.raw(input, raises ? MARKED + program : program, ['-c']);
        return { is: 'output', text: Buffer.concat(output).toString() };
      } catch (error) {
        if (error instanceof Bound) return { is: 'exceeded', what: error.what };
        const exitCode = error instanceof Error && 'exitCode' in error ? Number(error.exitCode) : undefined;
        // Without an exit code jq itself broke, and would return wrong results for later programs.
        if (exitCode === undefined) return { is: 'broken' };
        return { is: 'failed', exitCode, ...readError(errors, mark) };
      } finally {
        output = [];
      }
    },
  };
}

/**
 * Returns the error that jq printed, and whether it is the last error that the program itself raised.
 * @param {string} printed @param {string} mark
 */
function readError(printed, mark) {
  const found = /^jq: error(?: \(at [^)]*\))?( \(not a string\))?: ([\s\S]*)/.exec(printed);
  const message = (found?.[2] ?? printed).replace(/\n$/, '');
  if (!found || mark === '') return { message, own: false };
  const own = found[1] ? message : JSON.stringify(message);
  // Both texts may be cut off, so only their beginnings are compared.
  const length = Math.min(own.length - 1, mark.length, 400);
  return { message, own: length > 0 && own.slice(0, length) === mark.slice(0, length) };
}
