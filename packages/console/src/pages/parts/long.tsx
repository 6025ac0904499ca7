import type { VNode } from 'preact';

/** A text with more characters than this is folded; on a phone, this many are ten lines. */
const most = 400;
/** How many characters of a folded text are shown. */
const beginning = 200;

/** Renders a text; a long one is folded, and shows only its beginning. */
export function Long({ text }: { text: string }): VNode {
  if (text.length <= most) return <>{text}</>;
  // Cut between characters, not in the middle of a surrogate pair.
  const start = [...text.slice(0, beginning + 1)].slice(0, -1).join('');
  return (
    <details class="long">
      <summary>{start}…</summary>
      {text}
    </details>
  );
}
