import type {
  TRPCBuiltRouter,
  TRPCMutationProcedure,
  TRPCQueryProcedure,
  TRPCSubscriptionProcedure,
} from '@trpc/server';
import type { Procedures } from './types.js';

/** The shape of an error in a tRPC client's `error.shape`. */
interface ErrorShape {
  code: number;
  message: string;
  data: { code: string; httpStatus: number; reason: string; issues?: { path: string; message: string }[] };
}

interface Root {
  ctx: object;
  meta: object;
  errorShape: ErrorShape;
  transformer: false;
}

interface Typed {
  kind: string;
  input: unknown;
  output: unknown;
}

// biome-ignore lint/suspicious/noConfusingVoidType: of an argument only void can be left out.
type InputOf<P extends Typed> = P['input'] extends undefined ? void : P['input'];

/** An event of a stream, with the id after which the stream can be resumed. */
interface Tracked<Data> {
  id: string;
  data: Data;
}

type ProcedureOf<P extends Typed> = P['kind'] extends 'query'
  ? TRPCQueryProcedure<{ input: InputOf<P>; output: P['output']; meta: object }>
  : P['kind'] extends 'mutation'
    ? TRPCMutationProcedure<{ input: InputOf<P>; output: P['output']; meta: object }>
    : TRPCSubscriptionProcedure<{
        input: InputOf<P>;
        output: AsyncIterable<Tracked<P['output']>, void, unknown>;
        meta: object;
      }>;

/**
 * The type of Belay's tRPC router, for `createTRPCClient<AppRouter>` and libraries on top of it, such as TanStack Query. The address is
 * `<Belay>/trpc`. The server accepts `httpLink` for calls and `httpSubscriptionLink` for `executions.watch`.
 */
export type AppRouter = TRPCBuiltRouter<
  Root,
  {
    [Router in keyof Procedures]: {
      [Name in keyof Procedures[Router]]: Procedures[Router][Name] extends Typed
        ? ProcedureOf<Procedures[Router][Name]>
        : never;
    };
  }
>;
