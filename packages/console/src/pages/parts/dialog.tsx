import type { ComponentChildren, VNode } from 'preact';
import { texts } from '../../texts.js';

/** Renders a button and the dialog that it opens, without a script. `children`: a form or text; a button to close is added by `Close`. */
export function Dialog(props: {
  id: string;
  /** The words of the button. */
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

/** Renders the button that closes a dialog and does nothing. */
export function Close({ dialog }: { dialog: string }): VNode {
  return (
    <button type="button" class="second" popovertarget={dialog} popovertargetaction="hide">
      {texts.dialogPart.close}
    </button>
  );
}
