/*
 * Compiled, never run: types.test.ts hands it to the compiler. It holds the declarations that the SDK publishes by hand
 * equal to what the server's router infers, in both directions, procedure by procedure.
 */

import type { AppRouter } from '@belay/api';
import type { inferRouterInputs, inferRouterOutputs } from '@trpc/server';
import type { LocalRouter } from '../../agent/src/routers/roots.js';
import type {
  BelayError,
  DynamicElevationRequest,
  ElevationRequest,
  isBelayError,
  ResumeRequest,
} from '../src/index.js';
import type { LocalProcedures, Procedures } from '../src/procedures.js';

/** True only for the same type, `any` and optionality included. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Intersections written out, so that two ways of saying one thing compare as one. */
type Flat<T> = T extends (infer Item)[] ? Flat<Item>[] : T extends object ? { [K in keyof T]: Flat<T[K]> } : T;
type LocalPath = keyof LocalProcedures;
type Path = Exclude<keyof Procedures, LocalPath>;

type RouterInputs = inferRouterInputs<AppRouter>;
type RouterOutputs = inferRouterOutputs<AppRouter>;
type At<Routers, P extends Path | LocalPath> = P extends `${infer Resource}.${infer Name}`
  ? Resource extends keyof Routers
    ? Name extends keyof Routers[Resource]
      ? Routers[Resource][Name]
      : 'no such procedure'
    : 'no such router'
  : never;

/** What a subscription yields, inside tRPC's envelope for tracked events. */
type Yielded<T> = T extends AsyncIterable<{ data: infer Data }> ? Data : T;

/** No input at all is `undefined`, whichever way the router says it. */
type Given<T> = [undefined] extends [T] ? undefined : T;

type WrongOutputs = {
  [P in Path]: Same<Flat<Procedures[P]['output']>, Flat<Yielded<At<RouterOutputs, P>>>> extends true ? never : P;
}[Path];
type WrongInputs = {
  [P in Path]: Same<Flat<Procedures[P]['input']>, Flat<Given<At<RouterInputs, P>>>> extends true ? never : P;
}[Path];

type LocalInputs = inferRouterInputs<LocalRouter>;
type LocalOutputs = inferRouterOutputs<LocalRouter>;
type WrongLocal = {
  [P in LocalPath]: [
    Same<Flat<Procedures[P]['output']>, Flat<At<LocalOutputs, P>>>,
    Same<Flat<Procedures[P]['input']>, Flat<Given<At<LocalInputs, P>>>>,
  ] extends [true, true]
    ? never
    : P;
}[LocalPath];

declare function expectTrue<_T extends true>(): void;

// Each of these names the procedures that differ when it does not compile.
export const sameLocally: never = {} as WrongLocal;
export const sameOutputs: never = {} as Exclude<WrongOutputs, 'system.metrics'>;
// The router also accepts a Role object and a session token, for clients of the documented REST body; the SDK does not. One
// body is a static or a dynamic request, a decision or an event; the SDK says which belongs together.
type Divided = 'elevation.request' | 'elevation.prepareResume' | 'executions.prepareSignal';
export const sameInputs: never = {} as Exclude<WrongInputs, Divided>;
type Elevate = RouterInputs['elevation']['request'];
type Dynamic = 'permissions' | 'resources' | 'groups' | 'users';
expectTrue<
  Same<
    Flat<Omit<Elevate, 'role' | 'session' | Dynamic> & { role: Extract<Elevate['role'], string> }>,
    Flat<ElevationRequest>
  >
>();
expectTrue<
  Same<
    Flat<Omit<Elevate, 'role' | 'session' | 'providers'> & { providers: NonNullable<Elevate['providers']> }>,
    Flat<DynamicElevationRequest>
  >
>();
// What the service seals is any JSON; the SDK says `unknown`, so that its declarations stay free of recursive types.
type Sealed = RouterInputs['elevation']['prepareResume'];
expectTrue<
  Same<keyof Sealed, ResumeRequest extends infer Each ? (Each extends unknown ? keyof Each : never) : never>
>();
expectTrue<Same<keyof RouterInputs['executions']['prepareSignal'], 'id' | 'type' | 'data'>>();
// Metrics may gain counters; those the SDK names are the ones that the router promises.
type Counters = RouterOutputs['system']['metrics'];
type Promised = { [K in keyof Counters as string extends K ? never : K]: Counters[K] };
expectTrue<Same<Flat<Promised>, Flat<Procedures['system.metrics']['output']>>>();

declare const guard: typeof isBelayError;
declare const caught: unknown;
if (guard(caught, 'conflict')) expectTrue<Same<(typeof caught)['code'], 'conflict'>>();
if (guard(caught)) expectTrue<Same<(typeof caught)['code'], BelayError['code']>>();
