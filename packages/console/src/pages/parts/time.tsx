import type { VNode } from 'preact';
import type { View } from '../view.js';
import { leftInWords, momentInWords, relativeInWords } from '../words.js';

/** Renders an instant with its time zone and its distance from now. */
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

/** Renders the time left until an instant. */
export function TimeLeft({ until, view }: { until: string; view: View }): VNode {
  return (
    <time dateTime={until} class="left" data-left={until}>
      {leftInWords(Date.parse(until) - view.now.getTime())}
    </time>
  );
}
