import { LineCounter, parseDocument } from 'yaml';
import { ConfigurationError } from './configuration-error.js';

/** One parsed configuration file: a mapping, as plain JSON values. */
export interface ConfigurationFile {
  file: string;
  content: Record<string, unknown>;
}

/**
 * Parses one YAML or JSON file (JSON is YAML). An empty file is an empty mapping.
 * Throws `ConfigurationError` with `file:line: reason`, also for what YAML merely warns about: an unknown tag would
 * change what a value means without a word.
 */
export function parseConfigurationFile(file: string, text: string): ConfigurationFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const faults = [...document.errors, ...document.warnings];
  if (faults.length > 0) {
    throw new ConfigurationError(
      faults.map((fault) => {
        const { line, col } = lines.linePos(fault.pos[0]);
        return `${file}:${line}:${col}: ${fault.message.replace(/\s*\n\s*/g, ' ')}`;
      }),
    );
  }
  let content: unknown;
  try {
    content = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new ConfigurationError([`${file}: ${error instanceof Error ? error.message : 'cannot be read as YAML'}`]);
  }
  if (content === null || content === undefined) return { file, content: {} };
  if (typeof content !== 'object' || Array.isArray(content)) {
    throw new ConfigurationError([
      `${file}:1: a configuration is a mapping with keys such as providers, roles and workflows`,
    ]);
  }
  return { file, content: content as Record<string, unknown> };
}
