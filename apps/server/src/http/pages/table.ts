import { donePage } from './confirm.js';
import type { Page } from './page.js';
import { signedInPage, signedOutPage, signInPage } from './sign-in.js';

export type Rendered = { page: Page } | { redirect: string };
type Render = (output: never, view: { basePath: string; input: Readonly<Record<string, unknown>> }) => Rendered;

const executionPath = (basePath: string, id: unknown) => `${basePath}/execution/${encodeURIComponent(String(id))}`;
const done: Render = (output: { message: string }, { basePath, input }) => ({
  page: donePage(output, executionPath(basePath, input.id)),
});
const signedOut: Render = (output: { message: string }, { basePath }) => ({ page: signedOutPage(output, basePath) });
const requested: Render = (output: { output: { execution_id: string } }, { basePath }) => ({
  redirect: executionPath(basePath, output.output.execution_id),
});

/** Procedure → its output as a page. A page is a pure function of the output; what is not here answers JSON. */
const table: Readonly<Record<string, Render>> = {
  'auth.page': (output: Parameters<typeof signInPage>[0]) => ({ page: signInPage(output) }),
  'auth.callback': (output: Parameters<typeof signedInPage>[0]) => ({ page: signedInPage(output) }),
  'auth.logout': signedOut,
  'auth.logoutProvider': signedOut,
  'elevation.requestLink': requested,
  'executions.cancel': done,
  'executions.terminate': done,
  'executions.signal': done,
};

/** How a browser sees the output of a procedure; undefined when it has no page. */
export function renderOutput(
  procedure: string,
  output: unknown,
  view: { basePath: string; input: Readonly<Record<string, unknown>> },
): Rendered | undefined {
  // The table pairs each procedure with a page of its own output; the router's output schema has checked the shape.
  return table[procedure]?.(output as never, view);
}
