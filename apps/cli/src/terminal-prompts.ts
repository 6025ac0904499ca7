import type { Readable, Writable } from 'node:stream';
import { confirm, isCancel, multiselect, select, text } from '@clack/prompts';
import { CliError } from './cli-error.js';
import { printable } from './output/printable.js';
import type { Choice, Prompts } from './shell.js';

function answered<Value>(value: Value): Exclude<Value, symbol> {
  if (isCancel(value)) throw new CliError('aborted', 'given up');
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
    confirm: async (message) =>
      answered(await confirm({ ...streams, message: printable(message), initialValue: false })),
    select: async (message, choices) => answered(await select({ ...streams, message, options: toOptions(choices) })),
    selectMany: async (message, choices) =>
      answered(await multiselect({ ...streams, message, options: toOptions(choices), required: true })),
    text: async (message, { placeholder, check } = {}) =>
      answered(
        await text({
          ...streams,
          message: printable(message),
          ...(placeholder !== undefined && { placeholder, defaultValue: placeholder }),
          validate: (value) => check?.(value ?? ''),
        }),
      ),
  };
}
