import type { Output, Sink } from './output.js';
import { printable } from './printable.js';

/** Tells people what is happening while nothing else can be shown. */
export interface Progress extends Disposable {
  /** Replaces what was said before. */
  say(text: string): void;
  /** Takes the line off the terminal, so that something else can be written; `say` brings it back. */
  clear(): void;
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameTime = 120;
const eraseLine = '\r\u001b[2K';

/** One line that fits: a line that wrapped could not be erased again. */
function shorten(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(1, columns - 1))}…`;
}

/**
 * Progress on standard error: a line that moves on a terminal, one plain line for each change in a pipe, and nothing
 * with `--json`.
 */
export function createProgress(stderr: Sink, output: Output, animated: boolean): Progress {
  let text = '';
  let frame = 0;
  let timer: NodeJS.Timeout | undefined;
  if (output.json) return { say: () => {}, clear: () => {}, [Symbol.dispose]: () => {} };
  if (stderr.isTTY !== true || !animated) {
    const say = (next: string) => {
      if (next !== text) stderr.write(`${printable(next)}\n`);
      text = next;
    };
    return { say, clear: () => {}, [Symbol.dispose]: () => {} };
  }
  const draw = () => {
    const line = `${frames[frame % frames.length]} ${printable(text)}`;
    frame += 1;
    stderr.write(`${eraseLine}${shorten(line, (stderr.columns ?? 80) - 1)}`);
  };
  const clear = () => {
    if (timer === undefined) return;
    clearInterval(timer);
    timer = undefined;
    stderr.write(eraseLine);
  };
  return {
    say(next) {
      text = next;
      if (timer === undefined) timer = setInterval(draw, frameTime);
      draw();
    },
    clear,
    [Symbol.dispose]: clear,
  };
}
