import type * as contract from '@belay/contract/operations';

/** Every operation that the SDK can call. */
type Operations = contract.Operations & contract.LocalOperations;

type PathOf<Kind> = {
  [Path in keyof Operations]: Operations[Path] extends { kind: Kind } ? Path : never;
}[keyof Operations];

export type QueryPath = PathOf<'query'>;
export type MutationPath = PathOf<'mutation'>;
export type WatchPath = PathOf<'subscription'>;
export type InputOf<Path extends keyof Operations> = contract.InputOf<Operations[Path]>;
export type OutputOf<Path extends keyof Operations> = contract.OutputOf<Operations[Path]>;
