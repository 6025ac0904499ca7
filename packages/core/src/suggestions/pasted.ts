/** Recognises the system of a pasted error by its wording. */
const origins: readonly (readonly [pattern: RegExp, words: string])[] = [
  [/is forbidden: User|\(Forbidden\): /, 'kubernetes'],
  [/command denied to user|permission denied for (?:table|relation|schema|database|view|sequence)/i, 'database'],
  [/\.git denied to /i, 'push repository github'],
  [/not authorized to perform: |UnauthorizedOperation|\(AccessDenied\)/, 'aws'],
  [/AuthorizationFailed|authorization to perform action 'Microsoft\./, 'azure'],
  [/in the sudoers file|not allowed to (?:run|execute) /i, 'sudo'],
];

/** Matches parts of an error that name the rejected person, and no access. */
const noise: readonly RegExp[] = [
  /\b(?:user|client):? ?(?:"[^"]{0,200}"|'[^']{0,200}'(?:@'[^']{0,200}')?|arn:\S{1,200})/gi,
  /\bis not in the sudoers file\b/gi,
  /\bAPI group "[^"]{0,200}"/gi,
  /\bdenied to \S{1,200}/gi,
  /\bhttps?:\/\/\S{1,500}/gi,
];

/**
 * Returns a text without the names of people and parts of protocols in pasted errors, and with the kind of system that
 * rejected.
 */
export function clearPasted(text: string): string {
  const hints = origins.flatMap(([pattern, words]) => (pattern.test(text) ? [words] : []));
  const cleared = noise.reduce((left, pattern) => left.replace(pattern, ' '), text);
  return hints.length === 0 ? cleared : `${cleared}\n${hints.join(' ')}`;
}
