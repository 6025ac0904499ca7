import type { VNode } from 'preact';
import { readable } from '../readable.js';
import { Long } from './long.js';
import { Moment } from './time.js';

/** Renders the first cells of a log entry: its time, its message and its type. */
export function EventCells({ entry }: { entry: { timestamp: string; message: string; type: string } }): VNode {
  return (
    <>
      <td class="time">
        <Moment at={entry.timestamp} />
      </td>
      <td>
        <Long text={readable(entry.message)} />
        <br />
        <code class="quiet">{entry.type}</code>
      </td>
    </>
  );
}
