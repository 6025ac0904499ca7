import type { z } from 'zod';

interface Shapes {
  /** Absent for an operation without input. */
  input?: z.ZodType;
  output: z.ZodType;
}

/** Declares an operation that reads. */
export const query = <S extends Shapes>(shapes: S) => ({ kind: 'query' as const, ...shapes });

/** Declares an operation that changes something, or whose input is sent in a body. */
export const mutation = <S extends Shapes>(shapes: S) => ({ kind: 'mutation' as const, ...shapes });

/** Declares a stream; `output` is one event of it. */
export const subscription = <S extends Shapes>(shapes: S) => ({ kind: 'subscription' as const, ...shapes });
