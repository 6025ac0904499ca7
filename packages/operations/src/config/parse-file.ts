import type { Breathe } from '@belay/core';
import { ConfigurationError } from './configuration-error.js';
import { parseAnyText } from './parse-long.js';

/** One parsed configuration file: a mapping, as plain JSON values. */
export interface ConfigurationFile {
  file: string;
  text: string;
  content: Record<string, unknown>;
}

/**
 * Parses one YAML or JSON file (JSON is YAML). An empty file is an empty mapping. Throws `ConfigurationError` with
 * `file:line:column: reason`, or with `file: reason` when the text as a whole cannot be read.
 */
export async function parseConfigurationFile(file: string, text: string, breathe: Breathe): Promise<ConfigurationFile> {
  const parsed = await parseAnyText(text, breathe);
  if ('faults' in parsed) {
    throw new ConfigurationError(
      parsed.faults.map(({ line, col, message }) => {
        return { file, line, column: col, message: message.replace(/\s*\n\s*/g, ' ') };
      }),
    );
  }
  if ('unreadable' in parsed) throw new ConfigurationError([{ file, message: parsed.unreadable }]);
  const { content } = parsed;
  if (content === null || content === undefined) return { file, text, content: {} };
  if (typeof content !== 'object' || Array.isArray(content)) {
    const message = 'a configuration is a mapping with keys such as providers, roles and workflows';
    throw new ConfigurationError([{ file, line: 1, column: 1, message }]);
  }
  return { file, text, content: content as Record<string, unknown> };
}
