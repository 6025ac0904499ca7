import type { AppRouter } from '@belay/api';
import type { ErrorBody } from '@belay/contract/errors';
import type { inferRouterOutputs } from '@trpc/server';
import type { ComponentChildren } from 'preact';

/** The outputs of the procedures; pages are functions of them. */
export type Outputs = inferRouterOutputs<AppRouter>;

export interface Viewer {
  name: string;
  email: string;
}

/** The input of the frame around every page. */
export interface Frame {
  basePath: string;
  /** Path of the request, for the navigation. */
  path: string;
  now?: Date;
  /** Null when not signed in. */
  viewer: Viewer | null;
  /** How many requests wait for the viewer's decision. */
  waiting: number;
  /** Returns the CSRF token of a form that posts to this address, bound to the session and the address. */
  csrf(action: string): string;
}

/** The input of every page besides its output. */
export interface View extends Frame {
  now: Date;
  /** Returns whether this server has a procedure, for links to optional features. */
  offers(procedure: string): boolean;
  /** Returns a new idempotency key for a form. */
  once(): string;
  /** The error of the submitted form that is shown again. */
  refused?: ErrorBody;
  /** The fields of the HTTP request. */
  input: Readonly<Record<string, unknown>>;
}

export interface Page {
  title: string;
  content: ComponentChildren;
  /** Whether the page is a narrow sheet, for a single task. */
  narrow?: boolean;
  /** The origin outside this server that its form leads to, for the content security policy. */
  leadsTo?: string;
  /** How the page refreshes itself with scripts: by an execution's events, or every few seconds. */
  live?: { watch: string } | { every: number };
}

/** Returns an address of this server with each part escaped. */
export function to(view: { basePath: string }, ...parts: string[]): string {
  return [view.basePath, ...parts.map(encodeURIComponent)].join('/');
}
