import type { ComponentChildren, VNode } from 'preact';
import { texts } from '../../texts.js';

/** Renders a button and the dialog that it opens, without a script. `children`: a form or text; `Close` adds a button to close it. */
export function Dialog(props: {
  id: string;
  /** The text of the button. */
  opens: ComponentChildren;
  class?: string;
  title: string;
  children: ComponentChildren;
}): VNode {
  return (
    <>
      <button type="button" class={props.class ?? 'second'} popovertarget={props.id}>
        {props.opens}
      </button>
      <div id={props.id} class="dialog" popover="auto" role="dialog" aria-labelledby={`${props.id}-title`}>
        <h2 id={`${props.id}-title`}>{props.title}</h2>
        {props.children}
      </div>
    </>
  );
}

/** Renders the button that closes a dialog. */
export function Close({ dialog }: { dialog: string }): VNode {
  return (
    <button type="button" class="second" popovertarget={dialog} popovertargetaction="hide">
      {texts.dialogPart.close}
    </button>
  );
}
