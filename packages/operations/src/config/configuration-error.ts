import { findClosest } from '@belay/contract/closest';
import type { ConfigurationIssue } from '@belay/core';
import { findPlacesInText } from './parse-long.js';

/** One error or warning of a configuration, with its place. */
export interface ConfigurationFault {
  /** The file, or the folder when the fault is in no file. */
  file: string;
  /** Counted from 1; absent when the fault is not at one place of the file. */
  line?: number;
  column?: number;
  /** The key, as in `roles.admin.providers[0]`; absent for the file as a whole. */
  path?: string;
  /** What is wrong and what is right. */
  message: string;
  /** The known name that is most similar to the written one. */
  suggestion?: string;
}

/** Where the parts of a configuration were written. */
export interface Sources {
  /** Returns the file that has the key of an issue. */
  locate(path: string): { file: string };
  /** Returns the text of a file; undefined for a folder. */
  textOf(file: string): string | undefined;
}

/** The most faults that are explained: more do not help, and each takes time. */
const mostFaults = 100;

/** Why a configuration is rejected as a whole: its faults, and one message for each. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  readonly messages: readonly string[];
  constructor(readonly faults: readonly ConfigurationFault[]) {
    const messages = faults.map(describeFault);
    super(messages.join('; '));
    this.messages = messages;
  }
}

/** Returns a fault as one line, as in `belay.yaml:3:5: roles.admin.provider: is not a known key; did you mean "providers"?`. */
export function describeFault({ file, line, column, path, message, suggestion }: ConfigurationFault): string {
  const place = [file, line, column].filter((part) => part !== undefined).join(':');
  const meant = suggestion === undefined ? '' : `; did you mean ${JSON.stringify(suggestion)}?`;
  return [place, path, `${message}${meant}`].filter(Boolean).join(': ');
}

/** Turns issues of the catalog, which name keys, into faults that have a place and a suggestion as well. */
export async function explainIssues(
  issues: readonly ConfigurationIssue[],
  sources: Sources,
): Promise<ConfigurationFault[]> {
  const explained = issues.slice(0, mostFaults).map(({ path, message, given, known }): ConfigurationFault => {
    const suggestion = given === undefined || known === undefined ? undefined : findClosest(given, known());
    const { file } = sources.locate(path);
    return { file, ...(path !== '' && { path }), message, ...(suggestion !== undefined && { suggestion }) };
  });
  const placed = await placeFaults(explained, sources);
  const left = issues.length - explained.length;
  if (left === 0) return placed;
  return [...placed, { file: sources.locate('').file, message: `and ${left} more` }];
}

/** Adds line and column to the faults that name a key. */
export async function placeFaults(
  faults: readonly ConfigurationFault[],
  { textOf }: Pick<Sources, 'textOf'>,
): Promise<ConfigurationFault[]> {
  const places = new Map<ConfigurationFault, { line: number; column: number }>();
  for (const file of new Set(faults.map((fault) => fault.file))) {
    const text = textOf(file);
    const wanted = faults.filter((fault) => fault.file === file && fault.path !== undefined);
    if (text === undefined || wanted.length === 0) continue;
    const found = await findPlacesInText(
      text,
      wanted.map(({ path = '' }) => path),
    );
    for (const [index, fault] of wanted.entries()) {
      const place = found[index];
      if (place) places.set(fault, { line: place.line, column: place.col });
    }
  }
  return faults.map((fault) => {
    const { file, ...rest } = fault;
    return { file, ...places.get(fault), ...rest };
  });
}
