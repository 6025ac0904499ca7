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
  /** The path of the request, for the navigation. */
  path: string;
  now?: Date;
  /** Null when no person is signed in. */
  viewer: Viewer | null;
  /** How many requests wait for the viewer's decision. */
  waiting: number;
  /** Whether the viewer can see the requests of all people; only an administrator can act on them. */
  oversight: 'administrator' | 'auditor' | null;
  /** Whether open reviews of emergency access exist that the viewer can see. */
  reviews?: boolean;
  /** The page of this server whose form was sent, and the address to sign in and return to it; undefined for other requests. */
  sentFrom?: { path: string; signIn: string };
  /** A form that was not sent because the login had ended, sealed; the page keeps it until its sender has signed in again. */
  sealed?: string;
  /** Returns a value that binds a form to the person to whom it is shown, for this address. */
  shownTo(action: string): string;
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
  /** The address of the form that is shown again because it was not sent; its fields are in `input`. */
  unsent?: string;
  /** The error of the submitted form that is shown again. */
  refused?: ErrorBody;
  /** The fields of the HTTP request. */
  input: Readonly<Record<string, unknown>>;
}

export interface Page {
  title: string;
  /** A mark beside the title. */
  mark?: ComponentChildren;
  /** One or two sentences in a quiet style under the title. */
  lead?: ComponentChildren;
  /** The pages above this one. */
  crumbs?: readonly { href: string; text: string }[];
  /** The main actions of the page, beside its title. */
  actions?: ComponentChildren;
  content: ComponentChildren;
  /** Whether the page uses the whole width, for a list beside its open item. */
  wide?: boolean;
  /** The page's own scripts, by the names of their assets. The page also works without them. */
  scripts?: readonly string[];
  /** Whether the page is a narrow sheet, for a single task. */
  narrow?: boolean;
  /** The origin outside this server to which the page's form leads, for the content security policy. */
  leadsTo?: string;
  /** How the page refreshes itself with scripts: by an execution's events, or every few seconds. */
  live?: { watch: string } | { every: number };
}

/** Returns a documented path of this server with each part escaped, for forms; links use `at` (paths.ts). */
export function to(view: { basePath: string }, ...parts: string[]): string {
  return [view.basePath, ...parts.map(encodeURIComponent)].join('/');
}
