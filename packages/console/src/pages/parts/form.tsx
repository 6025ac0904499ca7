import type { ComponentChildren, VNode } from 'preact';
import { texts } from '../../texts.js';
import type { Frame, View } from '../view.js';

interface PostFormProps {
  action: string;
  view: Frame;
  class?: string;
  /** A key that is good for one sending: two sendings of this form are one request. */
  once?: string;
  children: ComponentChildren;
}

/** A form that changes something: it posts to us, with the token that only our own page for this login has. */
export function PostForm({ action, view, once, children, ...rest }: PostFormProps): VNode {
  return (
    <form method="post" action={action} class={rest.class}>
      <input type="hidden" name="csrf_token" value={view.csrf(action)} />
      {once !== undefined && <input type="hidden" name="idempotency_key" value={once} autocomplete="off" />}
      {children}
    </form>
  );
}

/** What was sent in a field, as a form shows it again. */
export function sent(view: View, field: string): string {
  const value = view.input[field];
  if (Array.isArray(value)) return value.map((item) => String(item).trim()).join(', ');
  return typeof value === 'string' ? value : '';
}

/** What is wrong with a field of the form that was sent; a list's items count as their field. */
function faultOf(view: View, field: string): string | undefined {
  const found = (view.refused?.issues ?? []).filter(({ path }) => path.split(/[.[]/)[0] === field);
  return found.length === 0 ? undefined : found.map(({ path, message }) => said(view, path, message)).join('; ');
}

/** An item of a list is called by what was typed there. */
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
  /** Gets what ties the control to its label, its hint and what is wrong with it. */
  control: (ties: { id: string; name: string; 'aria-describedby'?: string; 'aria-invalid'?: 'true' }) => VNode;
}

/** A labelled control, with what is wrong with it beside it. */
export function Field({ view, name, label, hint, control }: FieldProps): VNode {
  const fault = faultOf(view, name);
  const described = [hint !== undefined && `${name}-hint`, fault !== undefined && `${name}-fault`].filter(Boolean);
  return (
    <div class="field">
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

/** Why a form is here again, with the fields that it is about; nothing when it is shown for the first time. */
export function Refused({ view, labels }: { view: View; labels: Readonly<Record<string, string>> }): VNode | null {
  const { refused } = view;
  if (refused === undefined) return null;
  const issues = (refused.issues ?? []).filter(({ path }) => path !== '');
  return (
    <div class="state bad" role="alert">
      <p>
        {texts.formPart.notSent}
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
