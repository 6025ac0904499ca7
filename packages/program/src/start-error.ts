/**
 * Why the program cannot start, as one line that names the cause and the cure (docs/architecture.md, section 11).
 * Its message goes to the operator as it is; everything else stays in `cause`.
 */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Anything that went wrong, on one line: operators read the start of a program by lines. */
export function oneLine(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.replace(/\s*\n\s*/g, '; ').trim();
}
