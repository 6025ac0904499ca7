import type { VNode } from 'preact';
import type { View } from '../view.js';
import { leftInWords, momentInWords, relativeInWords } from '../words.js';

/** A moment: absolute with its zone, and how far off it is. */
export function When({ at, view }: { at: string; view: View }): VNode {
  return (
    <>
      <time dateTime={at}>{momentInWords(at)}</time>{' '}
      <span class="quiet">
        (<span data-relative={at}>{relativeInWords(Date.parse(at) - view.now.getTime())}</span>)
      </span>
    </>
  );
}

/** The time that is left until a moment. */
export function TimeLeft({ until, view }: { until: string; view: View }): VNode {
  return (
    <time dateTime={until} class="left" data-left={until}>
      {leftInWords(Date.parse(until) - view.now.getTime())}
    </time>
  );
}
