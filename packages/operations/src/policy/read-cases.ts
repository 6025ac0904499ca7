import { inOnePiece } from '@belay/core';
import { z } from 'zod';
import { ConfigurationError, placeFaults } from '../config/configuration-error.js';
import { listCaseFiles, listCasesBeside, readText } from '../config/list-files.js';
import { parseConfigurationFile } from '../config/parse-file.js';
import { type CaseFile, caseFile } from './case-schema.js';

export interface ReadCases {
  file: string;
  content: CaseFile;
}

/**
 * Reads the policy cases of a configuration, or those at the path `own`: a file, or each `*.policy-test.yaml` in a folder and below.
 * The cases of `belay.yaml` are in `belay.policy-test.yaml`. Throws `ConfigurationError` with the file, the line and the key.
 */
export async function readCases(configuration: string, own: string | undefined): Promise<ReadCases[]> {
  const path = own ?? configuration.replace(/\.(ya?ml|json)$/i, '.policy-test.yaml');
  const list = path === (own ?? configuration) ? listCaseFiles : listCasesBeside;
  const files = await list(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw new ConfigurationError([{ file: path, message: 'does not exist' }]);
  });
  if (files.length === 0) {
    const message = `contains no policy cases; add a file of them, for example ${path}/access.policy-test.yaml`;
    throw new ConfigurationError([{ file: path, message }]);
  }
  return Promise.all(files.map(async (file) => ({ file, content: await readFileOfCases(file) })));
}

/**
 * Returns the stand-ins for variables and secrets in the policy cases of a configuration; an empty object when the
 * cases do not exist or are not valid.
 */
export async function readStandIns(configuration: string): Promise<Record<string, string>> {
  const files = await readCases(configuration, undefined).catch((error: unknown) => {
    if (error instanceof ConfigurationError) return [];
    throw error;
  });
  return standInsOf(files);
}

export function standInsOf(files: readonly ReadCases[]): Record<string, string> {
  return Object.assign({}, ...files.map(({ content }) => content.environment));
}

async function readFileOfCases(file: string): Promise<CaseFile> {
  const text = await readText(file).catch((error: Error) => {
    throw new ConfigurationError([{ file, message: error.message }]);
  });
  const { content } = await parseConfigurationFile(file, text, inOnePiece);
  const read = caseFile.safeParse(content);
  const issues = read.success ? findUnknownPeople(read.data) : read.error.issues.map(toFault);
  if (read.success && issues.length === 0) return read.data;
  const faults = issues.map((issue) => ({ file, ...issue }));
  throw new ConfigurationError(await placeFaults(faults, { textOf: () => text }));
}

const toFault = ({ path, message }: z.core.$ZodIssue) => ({ path: z.core.toDotPath(path), message });

function findUnknownPeople({ cases, people }: CaseFile) {
  return cases.flatMap(({ person }, index) =>
    typeof person === 'string' && !Object.hasOwn(people, person)
      ? [{ path: `cases[${index}].person`, message: `there is no "${person}" in people` }]
      : [],
  );
}
