import type { Argument, Command, Option } from 'commander';
import { findValueSource, type ValueSource } from './value-sources.js';

export interface Candidate {
  value: string;
  description: string;
}

/** The candidates for the end of a command line; `files` lets the shell complete file names. */
export type Completion = Candidate[] | 'files';

/** The position that a command line has reached. */
interface Place {
  command: Command;
  /** The option whose value comes next. */
  option: Option | undefined;
  /** How many arguments were given to the command. */
  given: number;
}

/** Returns the default command of a group. Commander has no public accessor for its name. */
function defaultOf(command: Command): Command | undefined {
  const name = (command as Command & { _defaultCommandName?: string | null })._defaultCommandName;
  return command.commands.find((child) => child.name() === name);
}

function optionsOf(command: Command): Option[] {
  const fallback = defaultOf(command);
  const own = command.createHelp().visibleOptions(command);
  return fallback === undefined ? own : [...own, ...optionsOf(fallback).filter(({ long }) => long !== '--help')];
}

function findOption(command: Command, word: string): Option | undefined {
  return optionsOf(command).find((option) => option.long === word || option.short === word);
}

function takesValue(option: Option): boolean {
  return option.required || option.optional;
}

function walk(program: Command, words: readonly string[]): Place {
  let place: Place = { command: program, option: undefined, given: 0 };
  for (const word of words) {
    const { command, option, given } = place;
    if (word.startsWith('-')) {
      const found = word.includes('=') ? undefined : findOption(command, word);
      place = { ...place, option: found !== undefined && takesValue(found) ? found : undefined };
    } else if (option !== undefined) {
      place = { ...place, option: option.variadic ? option : undefined };
    } else {
      const child = given === 0 ? command.commands.find((each) => each.name() === word) : undefined;
      place = { command: child ?? command, option: undefined, given: child === undefined ? given + 1 : 0 };
    }
  }
  return place;
}

async function valuesOf(
  command: Command,
  wanted: Option | Argument,
  ask: (source: ValueSource) => Promise<Candidate[]>,
): Promise<Completion> {
  if (wanted.argChoices) return wanted.argChoices.map((value) => ({ value, description: '' }));
  const name = 'attributeName' in wanted ? wanted.attributeName() : wanted.name();
  const fallback = defaultOf(command);
  const source = findValueSource(command, name) ?? (fallback && findValueSource(fallback, name));
  if (source === 'files') return 'files';
  return source === undefined ? [] : ask(source);
}

/**
 * Returns what can come next on a command line. Names of commands and options come from the program itself, so they are
 * always complete.
 *
 * @param words everything after `belay`; the last one is being written, and may be empty.
 * @param ask Returns values that only a server knows.
 */
export async function complete(
  program: Command,
  words: readonly string[],
  ask: (source: ValueSource) => Promise<Candidate[]>,
): Promise<Completion> {
  const last = words.at(-1) ?? '';
  const { command, option, given } = walk(program, words.slice(0, -1));
  const fits = ({ value }: Candidate) => value.startsWith(last);
  if (option !== undefined && !last.startsWith('-')) {
    const values = await valuesOf(command, option, ask);
    return values === 'files' ? values : values.filter(fits);
  }
  if (last.startsWith('-')) {
    return optionsOf(command)
      .flatMap(({ long, short, description }) => {
        const names = [short, long].flatMap((name) => name ?? []);
        const words = names.filter((name) => name.startsWith('--'));
        return (words.length > 0 ? words : names).map((value) => ({ value, description }));
      })
      .filter(fits);
  }
  const children = given > 0 ? [] : command.createHelp().visibleCommands(command);
  const named = children.map((child) => ({ value: child.name(), description: child.description() })).filter(fits);
  const final = command.registeredArguments.at(-1);
  const argument = command.registeredArguments[given] ?? (final?.variadic ? final : undefined);
  if (argument === undefined) return named;
  const values = await valuesOf(command, argument, ask);
  return values === 'files' ? values : [...named, ...values.filter(fits)];
}
