declare module 'jq-web' {
  /**
   * jq compiled to WebAssembly. `raw` throws an error with an `exitCode` for failures of jq, and other errors when it
   * crashes.
   */
  const jq: Promise<{ raw(input: string, program: string, flags: string[]): string | undefined }>;
  export default jq;
}
