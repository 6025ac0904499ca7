declare module 'jq-web' {
  /** jq compiled to WebAssembly. `raw` throws an error with an `exitCode` for jq's own failures, others when it breaks. */
  const jq: Promise<{ raw(input: string, program: string, flags: string[]): string | undefined }>;
  export default jq;
}
