/**
 * Why the program cannot start, as one line that names the cause and the cure (docs/architecture.md, section 11).
 * Its message goes to the operator as it is; everything else stays in `cause`.
 */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Returns any error as one line, because operators read the output of a start line by line. */
export function oneLine(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.replace(/\s*\n\s*/g, '; ').trim();
}
