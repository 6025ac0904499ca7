import type { Readable, Writable } from 'node:stream';
import { CliError } from './cli-error.js';
import { printable } from './output/printable.js';
import type { Choice, Prompts } from './shell.js';

/** Loaded at the first question: most commands ask none. */
const load = () => import('@clack/prompts');

/** Leaving instead of answering gives a symbol. */
function answered<Value>(value: Value): Exclude<Value, symbol> {
  if (typeof value === 'symbol') throw new CliError('aborted', 'given up; nothing was sent');
  return value as Exclude<Value, symbol>;
}

function toOptions(choices: Choice[]): { value: string; label: string; hint?: string }[] {
  return choices.map(({ value, label, hint }) => ({
    value,
    label: printable(label),
    ...(hint && { hint: printable(hint) }),
  }));
}

/** Prompts on a terminal. They write to standard error, so that standard output holds results only. */
export function createTerminalPrompts(input: Readable, output: Writable): Prompts {
  const streams = { input, output };
  return {
    confirm: async (message) => {
      const { confirm } = await load();
      return answered(await confirm({ ...streams, message: printable(message), initialValue: false }));
    },
    secret: async (message) => {
      const { password } = await load();
      return answered(await password({ ...streams, message: printable(message) })) ?? '';
    },
    select: async (message, choices) => {
      const { select } = await load();
      return answered(
        await select({ ...streams, message: printable(message), options: toOptions(choices), maxItems: 12 }),
      );
    },
    text: async (message, { placeholder, check } = {}) => {
      const { text } = await load();
      const written = await text({
        ...streams,
        message: printable(message),
        ...(placeholder !== undefined && { placeholder: printable(placeholder), defaultValue: printable(placeholder) }),
        validate: (value) => check?.(value ?? ''),
      });
      return answered(written);
    },
  };
}
