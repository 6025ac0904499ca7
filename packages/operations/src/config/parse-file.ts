import type { Breathe } from '@belay/core';
import { ConfigurationError } from './configuration-error.js';
import { parseLongText } from './parse-long.js';
import { parseText } from './parse-text.js';

/** One parsed configuration file: a mapping, as plain JSON values. */
export interface ConfigurationFile {
  file: string;
  content: Record<string, unknown>;
}

/** A text of more characters is parsed in a thread: about a millisecond goes by for every thousand. */
const long = 20_000;

/**
 * Parses one YAML or JSON file (JSON is YAML). An empty file is an empty mapping.
 * Throws `ConfigurationError` with `file:line: reason`.
 */
export async function parseConfigurationFile(file: string, text: string, breathe: Breathe): Promise<ConfigurationFile> {
  const parsed = text.length > long ? await parseLongText(text, breathe) : parseText(text);
  if ('faults' in parsed) {
    throw new ConfigurationError(
      parsed.faults.map(({ line, col, message }) => `${file}:${line}:${col}: ${message.replace(/\s*\n\s*/g, ' ')}`),
    );
  }
  if ('unreadable' in parsed) throw new ConfigurationError([`${file}: ${parsed.unreadable}`]);
  const { content } = parsed;
  if (content === null || content === undefined) return { file, content: {} };
  if (typeof content !== 'object' || Array.isArray(content)) {
    throw new ConfigurationError([
      `${file}:1: a configuration is a mapping with keys such as providers, roles and workflows`,
    ]);
  }
  return { file, content: content as Record<string, unknown> };
}
