import type { ComponentChildren, VNode } from 'preact';
import { texts } from '../../texts.js';
import type { Frame, View } from '../view.js';

interface PostFormProps {
  action: string;
  view: Frame;
  class?: string;
  /** An idempotency key: submitting the form twice creates only one request. */
  once?: string;
  /** Whether the text in the form is kept when the login has ended; its page must be able to show it again (`renderUnsent`). */
  keeps?: boolean;
  children: ComponentChildren;
}

/** Renders a form that changes something: it posts with the CSRF token of this page and session. */
export function PostForm({ action, view, once, keeps = false, children, ...rest }: PostFormProps): VNode {
  return (
    <form method="post" action={action} class={rest.class}>
      <input type="hidden" name="csrf_token" value={view.csrf(action)} />
      {keeps && <input type="hidden" name="shown_to" value={view.shownTo(action)} autocomplete="off" />}
      {once !== undefined && <input type="hidden" name="idempotency_key" value={once} autocomplete="off" />}
      {isUnsent(view, action) && (
        <p class="state warn" role="status" tabIndex={-1} autofocus>
          {texts.draft.restored}
        </p>
      )}
      {children}
    </form>
  );
}

/** Returns whether the form of this address is shown again because it was not sent. */
export function isUnsent(view: Frame & { unsent?: string }, action: string): boolean {
  return view.unsent === action;
}

/** Returns the submitted value of a field, for showing it again. */
export function sent(view: View, field: string): string {
  const value = view.input[field];
  if (Array.isArray(value)) return value.map((item) => String(item).trim()).join(', ');
  return typeof value === 'string' ? value : '';
}

/** Returns the issues of a submitted field; issues of list items belong to the field of the list. */
function faultOf(view: View, field: string): string | undefined {
  const found = (view.refused?.issues ?? []).filter(({ path }) => path.split(/[.[]/)[0] === field);
  return found.length === 0 ? undefined : found.map(({ path, message }) => said(view, path, message)).join('; ');
}

/** Returns the message of an issue; for an item of a list, with the text of the item. */
function said(view: View, path: string, message: string): string {
  const [field = '', index] = path.split(/[.[\]]+/);
  const list = view.input[field];
  const item: unknown = Array.isArray(list) && index !== undefined && index !== '' ? list[Number(index)] : undefined;
  return typeof item === 'string' ? `“${item.trim()}” ${message}` : message;
}

interface FieldProps {
  view: View;
  name: string;
  label: ComponentChildren;
  hint?: ComponentChildren;
  class?: string;
  /** Renders the control with the attributes that connect it to its label, hint and error. */
  control: (ties: { id: string; name: string; 'aria-describedby'?: string; 'aria-invalid'?: 'true' }) => VNode;
}

/** Renders a control with its label, hint and error. */
export function Field({ view, name, label, hint, control, ...rest }: FieldProps): VNode {
  const fault = faultOf(view, name);
  const described = [hint !== undefined && `${name}-hint`, fault !== undefined && `${name}-fault`].filter(Boolean);
  return (
    <div class={rest.class ?? 'field'}>
      <label for={name}>{label}</label>
      {hint !== undefined && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      {fault !== undefined && (
        <p class="fault" id={`${name}-fault`}>
          {fault}
        </p>
      )}
      {control({
        id: name,
        name,
        ...(described.length > 0 ? { 'aria-describedby': described.join(' ') } : {}),
        ...(fault === undefined ? {} : { 'aria-invalid': 'true' }),
      })}
    </div>
  );
}

/** Renders why a form was rejected, with links to its fields; null when it was not rejected. `lead`: says what was not done. */
export function Refused(props: { view: View; labels: Readonly<Record<string, string>>; lead?: string }): VNode | null {
  const { view, labels, lead = texts.formPart.notSent } = props;
  const { refused } = view;
  if (refused === undefined) return null;
  const issues = (refused.issues ?? []).filter(({ path }) => path !== '');
  return (
    <div class="state bad" role="alert">
      <p>
        {lead}
        {issues.length === 0 ? refused.message : texts.formPart.checkFields}
      </p>
      {issues.length > 0 && (
        <ul>
          {issues.map(({ path, message }) => {
            const field = path.split(/[.[]/)[0] ?? '';
            const label = labels[field];
            return (
              <li key={`${path} ${message}`}>
                {label === undefined ? <code>{path}</code> : <a href={`#${field}`}>{label}</a>}:{' '}
                {said(view, path, message)}
              </li>
            );
          })}
        </ul>
      )}
    </div>
  );
}
