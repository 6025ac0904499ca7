import type { AnyTRPCRouter } from '@trpc/server';
import { ZodObject } from 'zod';
import type { Meta, RestMeta } from './meta.js';

/** One operation of the interface as the routers declare it; the REST adapter and the OpenAPI document are made from these. */
export interface DeclaredOperation {
  /** Path in the router, such as `executions.cancel`. */
  procedure: string;
  /** A mutation counts as a change, under any HTTP method. */
  type: 'query' | 'mutation';
  method: string;
  path: string;
  input: ZodObject | undefined;
  output: ZodObject | undefined;
  contentTypes: readonly string[];
  rest: RestMeta;
}

interface Declared {
  _def: { type: 'query' | 'mutation' | 'subscription'; meta?: Meta; inputs: readonly unknown[]; output?: unknown };
}

/** Returns every operation of a router that has a documented path. Subscriptions have none. */
export function listOperations(router: AnyTRPCRouter): DeclaredOperation[] {
  // By its type this record is nested like the routers; at run time it is flat, keyed by path.
  const procedures = router._def.procedures as unknown as Record<string, Declared>;
  return Object.entries(procedures).flatMap(([procedure, { _def }]) => {
    const openapi = _def.meta?.openapi;
    if (openapi === undefined || _def.type === 'subscription') return [];
    const input = _def.inputs.at(-1);
    return [
      {
        procedure,
        type: _def.type,
        method: openapi.method,
        path: openapi.path,
        input: input instanceof ZodObject ? input : undefined,
        output: _def.output instanceof ZodObject ? _def.output : undefined,
        contentTypes: openapi.contentTypes ?? ['application/json'],
        rest: _def.meta?.rest ?? {},
      },
    ];
  });
}
