import { Buffer } from 'node:buffer';

/** What a program was stopped for by the thread itself; jq is not fit for another program afterwards. */
class Bound extends Error {
  /** @param {'memory' | 'output'} what */
  constructor(what) {
    super(what);
    this.what = what;
  }
}

const MEGABYTE = 1024 * 1024;
/** How much memory a program may make jq take: 4 MB of small objects as input come to 220. */
const MOST_MEMORY = 256 * MEGABYTE;
/** WebAssembly gives no memory back, so a thread whose memory has grown beyond this is not used again. */
const WORN_MEMORY = 64 * MEGABYTE;
const MOST_OUTPUT = 4_000_000;
const MOST_ERRORS = 4_000;
const NEWLINE = 10;

/**
 * What `error` is in a program that uses it: it leaves a mark beside the error, so that what the program said itself can
 * be told from what jq says, which quotes data. The mark is one write to stderr that starts with this character.
 */
const MARK = '\u0001';
const MARKED = `def _error: error; def error: (("\\u0001" + tojson) | stderr | empty), _error; def error(f): f | error; `;

/**
 * @typedef {{ is: 'output', text: string } | { is: 'failed', exitCode: number, message: string, own: boolean }
 *   | { is: 'exceeded', what: 'memory' | 'output' } | { is: 'broken' }} Result
 */

/**
 * Loads jq, with its memory and its output bounded here and not by who reads the result. `compiled` spares compiling it
 * again. jq-web leaves no way to say either, so its call of `WebAssembly.instantiate` is taken over.
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
      // A program has one result. Of a second one it only counts that there is one.
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
    /** jq's code, compiled: for the next thread. */
    module: jqModule,
    /** Whether so much memory was taken that another thread should run the next program. */
    isWorn: () => (memory?.buffer.byteLength ?? 0) > WORN_MEMORY,
    /**
     * Runs a program; `raises` says that it may call `error`.
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
        // Without an exit code jq itself broke, and would answer every later program wrongly.
        if (exitCode === undefined) return { is: 'broken' };
        return { is: 'failed', exitCode, ...readError(errors, mark) };
      } finally {
        output = [];
      }
    },
  };
}

/**
 * The last error that jq printed, and whether it is the one that the program itself raised last.
 * @param {string} printed @param {string} mark
 */
function readError(printed, mark) {
  const found = /^jq: error(?: \(at [^)]*\))?( \(not a string\))?: ([\s\S]*)/.exec(printed);
  const message = (found?.[2] ?? printed).replace(/\n$/, '');
  if (!found || mark === '') return { message, own: false };
  const own = found[1] ? message : JSON.stringify(message);
  // Both are cut somewhere, so only their beginnings are compared.
  const length = Math.min(own.length - 1, mark.length, 400);
  return { message, own: length > 0 && own.slice(0, length) === mark.slice(0, length) };
}
