import type { VNode } from 'preact';

/** From so many characters on a text is folded: on a phone it is ten lines. */
const most = 400;
/** How much of a folded text is shown. */
const beginning = 200;

/** Renders a text; all of a long one is folded behind its beginning. */
export function Long({ text }: { text: string }): VNode {
  if (text.length <= most) return <>{text}</>;
  // By characters and not by halves of them.
  const start = [...text.slice(0, beginning + 1)].slice(0, -1).join('');
  return (
    <details class="long">
      <summary>{start}…</summary>
      {text}
    </details>
  );
}
