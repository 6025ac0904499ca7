import type { ErrorIssue } from '@belay/contract/errors';

/** Why a configuration is rejected as a whole: one message per fault, each naming its file and, where there is one, its key. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError';
  constructor(readonly messages: readonly string[]) {
    super(messages.join('; '));
  }
}

/** Turns issues of the catalog, which name keys, into messages that name the file as well. */
export function explainIssues(
  issues: readonly ErrorIssue[],
  locate: (path: string) => { file: string; key: string },
): string[] {
  return issues.map((issue) => {
    const { file, key } = locate(issue.path);
    return key === '' ? `${file}: ${issue.message}` : `${file}: ${key}: ${issue.message}`;
  });
}
