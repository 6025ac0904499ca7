export { type ExitCode, exitCodes } from './exit-codes.js';
export { runCli } from './program.js';
export type { Operator, Prompts, Shell, TokenRequest, Validation } from './shell.js';
