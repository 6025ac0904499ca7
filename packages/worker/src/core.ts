/** The names of core that this package uses, until core exports them; then this file goes and the imports name core. */
export interface Logger {
  debug(detail: object, message: string): void;
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}
export type Hint =
  | { queue: 'executions'; executionId: string; key: string; dueAt?: Date }
  | { queue: 'entitlements'; entitlementId: string; dueAt?: Date };
export interface Waker {
  wake(hints: readonly Hint[]): void;
}
export interface Context {
  log: Logger;
  timing: { sweep: number };
  randomBytes(size: number): Uint8Array;
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

function missing(): Promise<never> {
  return Promise.reject(new Error('core does not export its verbs yet'));
}
export const performStep: (context: Context, input: { executionId: string; key: string }) => Promise<void> = missing;
export const reconcileEntitlement: (context: Context, input: { entitlementId: string }) => Promise<void> = missing;
export const sweep: (context: Context) => Promise<{ steps: number; entitlements: number }> = missing;
export const expireLogins: (context: Context) => Promise<number> = missing;
