import { printable } from '@belay/contract/printable';
import type { Output, Sink } from './output.js';

/** Shows progress while a command waits. */
export interface Progress extends Disposable {
  /** Replaces the progress text. */
  say(text: string): void;
  /** Clears the progress line, so that other output can be written; `say` shows it again. */
  clear(): void;
}

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const frameTime = 120;
const eraseLine = '\r\u001b[2K';

/** Shortens a text to one line: a wrapped line could not be erased. */
function shorten(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(1, columns - 1))}…`;
}

/**
 * Shows progress on standard error: a line that moves on a terminal, one plain line for each change in a pipe, and
 * nothing when the output is for a program.
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
