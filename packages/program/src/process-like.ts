/** The process that the program runs in; what of it is used, so that nothing else reaches for it. */
export interface ProcessLike {
  env: Record<string, string | undefined>;
  stdout: { write(text: string): unknown; isTTY?: boolean };
  stderr: { write(text: string): unknown };
  cwd(): string;
  on(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', handle: () => void): unknown;
  exit(code: number): never;
}
