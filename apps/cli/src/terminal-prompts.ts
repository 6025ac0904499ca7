import type { Readable, Writable } from 'node:stream';
import { printable } from '@belay/contract/printable';
import { CliError } from './cli-error.js';
import type { Choice, Prompts } from './shell.js';

/** Loaded at the first prompt, because most commands have none. */
const load = () => import('@clack/prompts');

/** Returns the value of a prompt. Throws `aborted` for the symbol that means that the person cancelled. */
function answered<Value>(value: Value): Exclude<Value, symbol> {
  if (typeof value === 'symbol') throw new CliError('aborted', 'cancelled; nothing was sent');
  return value as Exclude<Value, symbol>;
}

interface Option {
  value: string;
  label: string;
  hint?: string;
}

/** The state of the prompt that shows whether a choice was made; see `select`. */
interface Asked {
  isNavigating: boolean;
  userInput: string;
  filteredOptions: readonly Option[];
}

/** Stands at the top while nothing is selected: a list of what can be granted must not preselect a choice. */
const none: Option = { value: '', label: '(none selected)' };

/** Returns whether an option contains the search text. A complete name matches only its own option, even if other names start with it. */
function matches(search: string, { value, label, hint = '' }: Option, all: readonly Option[]): boolean {
  if (value === none.value) return false;
  const wanted = search.trim().toLowerCase();
  if (all.some((option) => option.value.toLowerCase() === wanted)) return value.toLowerCase() === wanted;
  return [value, label, hint].some((text) => text.toLowerCase().includes(wanted));
}

/**
 * Returns what the person still has to do; undefined when one option is chosen: the only match, or the option that the
 * person moved to.
 */
function checkChoice({ isNavigating, userInput, filteredOptions }: Asked, value: unknown): string | undefined {
  if (filteredOptions.length === 0) return 'No matches. Delete some characters.';
  if (filteredOptions.length === 1 && value !== none.value) return undefined;
  if (isNavigating && value !== none.value) return undefined;
  return userInput === ''
    ? 'Type part of a name, or select with ↑ and ↓.'
    : `${filteredOptions.length} match: type more, press Tab, or select with ↑ and ↓.`;
}

async function select(streams: { input: Readable; output: Writable }, message: string, choices: Choice[]) {
  const { autocomplete } = await load();
  // Tab inserts a value into the line, so values are made printable as labels are; this map returns the original values.
  const meant = new Map(choices.map(({ value }) => [printable(value), value]));
  const offered = choices.map(({ value, label, hint }): Option => {
    return { value: printable(value), label: printable(label), ...(hint && { hint: printable(hint) }) };
  });
  const options = offered.length > 1 ? [none, ...offered] : offered;
  let asked: Asked | undefined;
  const chosen = await autocomplete<string>({
    ...streams,
    message: printable(message),
    options() {
      asked = this as unknown as Asked;
      return options;
    },
    filter: (search, option) => matches(search, option as Option, offered),
    validate: (value) => (asked === undefined ? undefined : checkChoice(asked, value)),
    completeOnTab: true,
    maxItems: 12,
  });
  const value = answered(chosen);
  return meant.get(value) ?? value;
}

/** Creates the prompts of a terminal. They write to standard error, so that standard output holds only results. */
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
    select: (message, choices) => select(streams, message, choices),
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
