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
 * Renders the filters of a list. On a phone they are folded behind a button that says how many are set; on other screens the style
 * sheet unfolds them. When one was rejected, they are unfolded and say why.
 */
export function Filters(props: {
  view: View;
  /** The address of the list, which is also the list without filters. */
  action: string;
  label: string;
  /** The words of the button. */
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

/** Renders how many filters are set; nothing when none is. */
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

/** Renders a choice of the filters above a list; the first option is to choose none. */
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

/** Renders the field for a day, in UTC: its label says so. */
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
 * Renders the field for the moment that begins or ends what is listed. Without scripts it is in UTC, which its label says; a script
 * makes it the reader's time, as the moments of the list are, and the address has UTC all the same.
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

/** Returns a moment in UTC as a field of a browser takes it; seconds only where they are not those of a whole minute. */
function inUtc(given: string, bound: 'start' | 'end'): string {
  const moment = bound === 'start' ? startOfMoment(given) : endOfMoment(given);
  if (Number.isNaN(moment.getTime())) return '';
  const text = moment.toISOString();
  return /:(?:00\.000|59\.999)Z$/.test(text) ? text.slice(0, 16) : text.slice(0, 19);
}

/** Returns whether the moment that begins a list is after the one that ends it, so that nothing can match. */
export function isReversed(view: View, from: string, until: string): boolean {
  const [start, end] = [inUtc(sent(view, from), 'start'), inUtc(sent(view, until), 'end')];
  return start !== '' && end !== '' && start > end;
}
