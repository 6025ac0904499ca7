// Stands in for the verbs that @belay/core does not export yet; goes as soon as it does.
export {};
declare module '@belay/core' {
  export type Actor = UserActor | { kind: 'operator'; name: string } | { kind: 'system'; name: string };
  export interface UserActor { kind: 'user'; id: string; email: string; name: string; groups: string[]; provider: string; subject: string; loginId: string }
  export type Logger = Record<'debug' | 'info' | 'warn' | 'error', (detail: object, message: string) => void>;
  export interface Context {
    log: Logger;
    newId(): string;
    randomBytes(size: number): Uint8Array;
    program: { version: string; revision: string; baseUrl: string };
  }
  export interface ActorContext extends Context { actor: Actor }
  export type ErrorCode = 'not_found' | 'forbidden' | 'unauthenticated' | 'invalid' | 'conflict' | 'unavailable' | 'held_outside' | 'not_configured' | 'internal';
  export interface ErrorIssue { path: string; message: string }
  export class AccessError extends Error {
    constructor(code: ErrorCode, message: string, options?: { issues?: ErrorIssue[]; cause?: unknown });
    readonly code: ErrorCode;
    get issues(): ErrorIssue[] | undefined;
  }
  type Verb = (ctx: Context, input: any) => Promise<any>;
  type Reader = (ctx: Context) => Promise<any>;
  export function withActor(ctx: Context, actor: Actor): ActorContext;
  export const beginLogin: Verb, completeLogin: Verb, exchangeLoginCode: Verb, verifyLogin: Verb, endLogin: Verb, readWhoami: Reader;
  export function listProviders(ctx: Context, input: object): Promise<{ version: string; providers: { _id: string; _source: { id: string; name: string; description: string; provider: string; enabled: boolean; capabilities: string[] } }[] }>;
  export const getProvider: Verb, listProviderRoles: Verb, listProviderPermissions: Verb, listProviderIdentities: Verb;
  export const listRoles: Verb, getWorkflow: Verb, listWorkflows: Reader;
  export function getRole(ctx: Context, input: { role: string }): Promise<{ name: string; description: string; providers: string[]; workflows: string[]; enabled: boolean; permissions?: { users?: string[]; groups?: string[] }; max_duration: string; default_duration: string; reason: { required: boolean; pattern?: string }; inherits: string[]; grants: { provider: string; access: unknown }[] }>;
  export const requestElevation: Verb, resumeExecution: Verb;
  export const startExecution: Verb, listExecutions: Reader, getExecution: Verb, cancelExecution: Verb, terminateExecution: Verb, signalExecution: Verb;
  export function watchExecution(ctx: Context, input: { id: string; after?: number | undefined; signal: AbortSignal }): AsyncIterable<{ seq: number; event_type: string; timestamp: string; message: string; task?: string; status: string }>;
  export const listInbox: Reader, decideApproval: Verb, listAccess: Reader, returnAccess: Verb;
  export const readHealth: Verb, readReadiness: Reader, readMetrics: Verb, listLogs: Verb, readApiConfiguration: Reader, readSync: Reader;
}
