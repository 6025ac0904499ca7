import type { ComponentChildren, VNode } from 'preact';
import { texts } from '../../texts.js';
import { Icon, type IconName } from './icon.js';

interface RowProps {
  /** The address to which the whole row leads. */
  href: string;
  title: ComponentChildren;
  /** One line in a quiet style, beside or below the title. */
  sub?: ComponentChildren;
  /** A Glyph, an Avatar or an Icon. */
  sign?: ComponentChildren;
  /** The full text of the row as a tooltip, where the visible text can be cut. */
  hint?: string;
  /** Badges, times and buttons at the end. */
  children?: ComponentChildren;
  /** Whether the row is the open one beside the list. */
  current?: boolean;
  id?: string;
}

/** Renders one row of `<ul class="rows">`. */
export function Row({ href, title, sub, hint, sign, children, current = false, id }: RowProps): VNode {
  return (
    <li class="row" id={id}>
      {sign}
      <span class="row-main">
        <span class="row-title">
          <a href={href} title={hint} aria-current={current ? 'true' : undefined}>
            {title}
          </a>
        </span>
        {sub !== undefined && sub !== '' && <span class="row-sub">{sub}</span>}
      </span>
      {children !== undefined && <span class="row-side">{children}</span>}
    </li>
  );
}

/** Renders an empty list: what is empty, and what to do next. */
export function Empty(props: { icon?: IconName; title: string; children?: ComponentChildren }): VNode {
  return (
    <div class="empty">
      {props.icon !== undefined && <Icon name={props.icon} />}
      <p class="empty-title">{props.title}</p>
      {props.children}
    </div>
  );
}

/** A view of the same list, with its address and, if known, the number of its items. */
export interface Tab {
  href: string;
  text: string;
  current: boolean;
  count?: number | undefined;
}

/** Renders the tabs of a page; `label` names them. */
export function Tabs({ tabs, label }: { tabs: readonly Tab[]; label: string }): VNode {
  return (
    <nav aria-label={label}>
      <ul class="tabs">
        {tabs.map(({ href, text, current, count }) => (
          <li key={href}>
            <a href={href} aria-current={current ? 'page' : undefined}>
              {text}
              {count !== undefined && <span class="quiet">{count}</span>}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** Renders a search field for a form with method GET; the key `/` moves the cursor to it. */
export function SearchField(props: { name: string; value: string; label: string; placeholder?: string }): VNode {
  return (
    <div class="search">
      <label class="hidden-text" for={`search-${props.name}`}>
        {props.label}
      </label>
      <Icon name="search" />
      <input
        id={`search-${props.name}`}
        type="search"
        name={props.name}
        value={props.value}
        placeholder={props.placeholder ?? props.label}
        autocomplete="off"
        data-search
      />
      <span class="key" aria-hidden="true">
        /
      </span>
    </div>
  );
}

/** Renders the links to the newer and older page, if those exist. */
export function Paging(props: {
  newer?: string | undefined;
  older?: string | undefined;
  shown?: string;
}): VNode | null {
  if (props.newer === undefined && props.older === undefined) return null;
  return (
    <nav class="paging" aria-label={texts.listPart.pages}>
      <span>{props.shown}</span>
      <span class="actions">
        {props.newer !== undefined && (
          <a class="button second small" href={props.newer} rel="prev">
            <Icon name="chevron-left" />
            {texts.listPart.previous}
          </a>
        )}
        {props.older !== undefined && (
          <a class="button second small" href={props.older} rel="next">
            {texts.listPart.next}
            <Icon name="chevron-right" />
          </a>
        )}
      </span>
    </nav>
  );
}

/** Returns an address with these fields in its query; empty fields are left out to keep it short. */
export function addressWith(path: string, fields: Readonly<Record<string, string | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) if (value !== undefined && value !== '') query.set(name, value);
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}
