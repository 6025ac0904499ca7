import type { AppRouter } from '@belay/api';
import type { ErrorBody } from '@belay/contract/errors';
import type { inferRouterOutputs } from '@trpc/server';
import type { ComponentChildren } from 'preact';

/** What the procedures answer: pages are functions of it. */
export type Outputs = inferRouterOutputs<AppRouter>;

export interface Viewer {
  name: string;
  email: string;
}

/** What the frame around every page needs. */
export interface Frame {
  basePath: string;
  /** Path of the request, for the navigation. */
  path: string;
  now?: Date;
  /** Null for nobody. */
  viewer: Viewer | null;
  /** How many requests wait for the viewer's decision. */
  waiting: number;
  /** The token of a form that posts to this address: bound to the login and to the address. */
  csrf(action: string): string;
}

/** What every page knows beside its output. */
export interface View extends Frame {
  now: Date;
  /** Whether this server has a procedure, for links to what not every one has. */
  offers(procedure: string): boolean;
  /** A key that is good for one sending of a form. */
  once(): string;
  /** Why the form that was sent is shown again. */
  refused?: ErrorBody;
  /** The request's own fields. */
  input: Readonly<Record<string, unknown>>;
}

export interface Page {
  title: string;
  content: ComponentChildren;
  /** A sheet in the middle, for pages of one thought. */
  narrow?: boolean;
  /** Where its form leads beyond this server, which the browser has to be told. */
  leadsTo?: string;
  /** How the page keeps itself right where there is a script: by an execution's events, or by looking every so often. */
  live?: { watch: string } | { every: number };
}

/** An address of ours, each part of it escaped. */
export function to(view: { basePath: string }, ...parts: string[]): string {
  return [view.basePath, ...parts.map(encodeURIComponent)].join('/');
}
