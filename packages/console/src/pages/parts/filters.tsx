import { endOfMoment, startOfMoment } from '@belay/contract/moments';
import type { ComponentChildren, VNode } from 'preact';
import { texts } from '../../texts.js';
import type { View } from '../view.js';
import { Field, Refused, sent } from './form.js';
import { Icon } from './icon.js';

/** Returns the fields of the address that filter a list. */
export function filtersOf(view: View, fields: readonly string[]): Record<string, string> {
  return Object.fromEntries(fields.map((field) => [field, sent(view, field)]).filter(([, value]) => value !== ''));
}

/**
 * Renders the filters of a list. On a phone, a button with their number unfolds them; on other screens the style sheet shows them unfolded.
 * Rejected filters are unfolded and show their error.
 */
export function Filters(props: {
  view: View;
  /** The address of the list, which is also the list without filters. */
  action: string;
  label: string;
  /** The text of the button. */
  submit: string;
  /** How many filters are set. */
  set: number;
  /** The fields that can be rejected, by name, with their labels. */
  labels: Readonly<Record<string, string>>;
  children: ComponentChildren;
}): VNode {
  const { view, action, label, submit, set, labels, children } = props;
  return (
    <form class="filter-form" method="get" action={action} aria-label={label}>
      <Refused view={view} labels={labels} lead={texts.filtersPart.notApplied} />
      <Fold id="filters" title={label} set={set} open={view.refused !== undefined}>
        <div class="filters">
          {children}
          <div class="filter-actions">
            <button type="submit" class="second">
              {submit}
            </button>
            {set > 0 && (
              <a class="button bare" href={action}>
                {texts.filtersPart.clear}
              </a>
            )}
          </div>
        </div>
      </Fold>
    </form>
  );
}

function Fold(props: { id: string; title: string; set: number; open: boolean; children: ComponentChildren }): VNode {
  return (
    <details class="fold" id={props.id} open={props.open}>
      <summary>
        <Icon name="list-filter" />
        {props.title}
        <SetCount set={props.set} />
      </summary>
      {props.children}
    </details>
  );
}

/** Renders the number of filters that are set; nothing for zero. */
export function SetCount({ set }: { set: number }): VNode | null {
  if (set === 0) return null;
  return (
    <span class="count">
      {set}
      <span class="hidden-text">{texts.filtersPart.set}</span>
    </span>
  );
}

interface FilterProps {
  view: View;
  name: string;
  label: string;
}

/** Renders a text field of the filters above a list. */
export function FilterField({ view, name, label, hint }: FilterProps & { hint?: string }): VNode {
  return (
    <Field
      {...{ view, name, label }}
      class="filter"
      control={(ties) => (
        <input
          {...ties}
          type="text"
          value={sent(view, name)}
          placeholder={hint}
          autocomplete="off"
          spellcheck={false}
        />
      )}
    />
  );
}

/** Renders a select of the filters above a list; its first option selects nothing. */
export function FilterChoice({ view, name, label, options }: FilterProps & { options: readonly string[] }): VNode {
  return (
    <Field
      {...{ view, name, label }}
      class="filter"
      control={(ties) => (
        <select {...ties}>
          <option value="">{texts.filtersPart.any}</option>
          {options.map((option) => (
            <option key={option} value={option} selected={sent(view, name) === option}>
              {option}
            </option>
          ))}
        </select>
      )}
    />
  );
}

/** Renders the field for a day in UTC, which its label says. */
export function FilterDay({ view, name, label }: FilterProps): VNode {
  return (
    <Field
      {...{ view, name, label }}
      class="filter"
      control={(ties) => <input {...ties} type="date" value={sent(view, name).slice(0, 10)} autocomplete="off" />}
    />
  );
}

/**
 * Renders the field for the start or end of a list's period. Without scripts it is in UTC, and its label says so. A script shows it in the
 * reader's time, like the times of the list; the address always contains UTC.
 */
export function FilterMoment({ view, name, label, bound }: FilterProps & { bound: 'start' | 'end' }): VNode {
  return (
    <Field
      view={view}
      name={name}
      class="filter wide"
      label={
        <>
          {label} <span data-zone={texts.filtersPart.localTime}>{texts.filtersPart.utc}</span>
        </>
      }
      control={(ties) => (
        <input
          {...ties}
          type="datetime-local"
          value={inUtc(sent(view, name), bound)}
          data-utc={bound}
          autocomplete="off"
        />
      )}
    />
  );
}

/** Returns a time in UTC in the format of a browser's field, without seconds at the start or end of a minute. */
function inUtc(given: string, bound: 'start' | 'end'): string {
  const moment = bound === 'start' ? startOfMoment(given) : endOfMoment(given);
  if (Number.isNaN(moment.getTime())) return '';
  const text = moment.toISOString();
  return /:(?:00\.000|59\.999)Z$/.test(text) ? text.slice(0, 16) : text.slice(0, 19);
}

/** Returns whether the start of the period is after its end, so that nothing can match. */
export function isReversed(view: View, from: string, until: string): boolean {
  const [start, end] = [inUtc(sent(view, from), 'start'), inUtc(sent(view, until), 'end')];
  return start !== '' && end !== '' && start > end;
}
