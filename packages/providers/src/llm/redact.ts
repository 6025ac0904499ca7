const secrets: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/-----BEGIN [A-Z ]{1,40}-----[\s\S]{0,8000}?(?:-----END [A-Z ]{1,40}-----|$)/g, '[key]'],
  [/\beyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)*/g, '[token]'],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{12,}\b/g, '[key id]'],
  [/\b(?:gh[pousr]_|github_pat_|sk-|xox[abprs]-|glpat-|AIza)[\w-]{10,}/g, '[token]'],
  [
    /\b(password|passwd|pwd|secret|token|api[_-]?key|authorization)(\s{0,3}[:=]\s{0,3})(?:bearer |basic )?["']?[^\s"',;]{4,}/gi,
    '$1$2[secret]',
  ],
  [/\b([a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{1,100}:)[^\s@]{1,200}@/gi, '$1[secret]@'],
];

/** Returns a text without the parts that look like credentials, because people paste whole command lines and logs. */
export function redactSecrets(text: string): string {
  return secrets.reduce((left, [pattern, instead]) => left.replace(pattern, instead), text);
}
