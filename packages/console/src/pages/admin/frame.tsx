import { limits } from '@belay/contract/limits';
import type { ComponentChildren, VNode } from 'preact';
import { at } from '../../paths.js';
import { texts } from '../../texts.js';
import { Close, Dialog } from '../parts/dialog.js';
import { PostForm } from '../parts/form.js';
import { addressWith, Paging, Tabs } from '../parts/list.js';
import type { View } from '../view.js';

const pages = ['access', 'overdue', 'logs', 'people', 'configuration', 'agents'] as const;
type AdminPage = (typeof pages)[number];

/** Renders the tabs above every administration page. */
export function AdminTabs({ current }: { current: AdminPage }): VNode {
  return (
    <Tabs
      label={texts.admin.pages}
      tabs={pages.map((page) => ({
        href: at('admin', page),
        text: texts.admin.tabs[page],
        current: page === current,
      }))}
    />
  );
}

/** Returns a field of the address as text; empty when it is missing. */
export function given(view: View, field: string): string {
  const value = view.input[field];
  return typeof value === 'string' ? value : '';
}

/** Renders the link to the next page of a list, and to its first one. */
export function AdminPaging(props: {
  page: AdminPage;
  filters: Readonly<Record<string, string>>;
  next: string | null;
  view: View;
}): VNode {
  const { page, filters, next, view } = props;
  const address = (cursor?: string) => addressWith(at('admin', page), { ...filters, cursor });
  return (
    <Paging
      newer={given(view, 'cursor') === '' ? undefined : address()}
      older={next === null ? undefined : address(next)}
    />
  );
}

/**
 * Renders a button that opens a dialog with the form of an action. The form requires a reason for the audit log. Only administrators see
 * the button.
 */
export function Act(props: {
  id: string;
  /** The text of the button, and the hidden text after it for people who do not see the row. */
  opens: string;
  about: string;
  title: string;
  action: string;
  fields?: Readonly<Record<string, string>>;
  view: View;
  /** Further fields of the form. */
  children?: ComponentChildren;
}): VNode | null {
  const { id, opens, about, title, action, fields = {}, view, children } = props;
  if (view.oversight !== 'administrator') return null;
  return (
    <Dialog
      id={id}
      class="second small"
      title={title}
      opens={
        <>
          {opens}
          <span class="hidden-text">: {about}</span>
        </>
      }
    >
      <PostForm action={action} view={view}>
        <p>{about}</p>
        {Object.entries(fields).map(([name, value]) => (
          <input key={name} type="hidden" name={name} value={value} />
        ))}
        <div class="field">
          <label for={`${id}-reason`}>{texts.admin.reason}</label>
          <input id={`${id}-reason`} type="text" name="reason" required maxLength={limits.operatorReason} />
        </div>
        {children}
        <div class="actions">
          <button type="submit" class="danger">
            {opens}
          </button>
          <Close dialog={id} />
        </div>
      </PostForm>
    </Dialog>
  );
}
