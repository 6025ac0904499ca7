import type { ComponentChildren, VNode } from 'preact';
import type { Frame } from '../view.js';

/** A form that changes something: it posts to us, with the token that only our own page for this login has. */
export function PostForm(props: { action: string; view: Frame; class?: string; children: ComponentChildren }): VNode {
  return (
    <form method="post" action={props.action} class={props.class}>
      <input type="hidden" name="csrf_token" value={props.view.csrf(props.action)} />
      {props.children}
    </form>
  );
}
