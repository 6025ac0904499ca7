import type { VNode } from 'preact';
import { texts } from '../../texts.js';
import type { View } from '../view.js';
import { leftInWords, momentInWords, relativeInWords } from '../words.js';

/** Renders an instant in UTC. A script shows local time instead, with UTC in a tooltip. */
export function Moment({ at }: { at: string }): VNode {
  return (
    <time dateTime={at} data-moment>
      {momentInWords(at)}
    </time>
  );
}

/** Renders an instant with its distance from now. */
export function When({ at, view }: { at: string; view: View }): VNode {
  return (
    <>
      <Moment at={at} />{' '}
      <span class="quiet">
        (<span data-relative={at}>{relativeInWords(Date.parse(at) - view.now.getTime())}</span>)
      </span>
    </>
  );
}

/** Renders only the distance of an instant from now, for dense rows; the instant is in a tooltip. */
export function Ago({ at, view }: { at: string; view: View }): VNode {
  return (
    <time dateTime={at} data-relative={at} title={momentInWords(at)}>
      {relativeInWords(Date.parse(at) - view.now.getTime())}
    </time>
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

/** Below this share of the time left, the bar changes its colour. */
const short = 0.15;

/** Renders how much of the time between two instants is left, as a bar. The time left must also be beside it as text. */
export function TimeBar({ from, until, view }: { from: string; until: string; view: View }): VNode {
  const whole = Math.max(1, Date.parse(until) - Date.parse(from));
  const left = Math.min(whole, Math.max(0, Date.parse(until) - view.now.getTime()));
  return (
    <progress
      class={left / whole < short ? 'bar short' : 'bar'}
      max={whole}
      value={left}
      data-until={until}
      aria-label={texts.timePart.timeLeft}
    />
  );
}
