import type { VNode } from 'preact';
import { texts } from '../texts.js';
import { Field, PostForm, Refused, sent } from './parts/form.js';
import { Empty } from './parts/list.js';
import { type Outputs, type Page, to, type View } from './view.js';

type Shown = Outputs['preferences']['get'];

const labels = {
  channels: texts.settings.channels,
  told: texts.settings.told,
  quiet_from: texts.settings.quietFrom,
  quiet_to: texts.settings.quietTo,
  time_zone: texts.settings.timeZone,
};

/** Renders the viewer's notifications outside of Belay, and the switch for keys, which is stored in the browser. */
export function settingsPage(shown: Shown, view: View): Page {
  return {
    title: texts.settings.title,
    lead: texts.settings.lead,
    content: (
      <>
        <section aria-labelledby="notifications">
          <h2 id="notifications">{texts.settings.notifications}</h2>
          {shown.available.channels.length === 0 ? (
            <Empty icon="bell" title={texts.settings.noChannels}>
              <p>{texts.settings.noChannelsHint}</p>
            </Empty>
          ) : (
            <Notifications shown={shown} view={view} />
          )}
        </section>
        <section aria-labelledby="keyboard">
          <h2 id="keyboard">{texts.settings.keyboard}</h2>
          <p class="quiet">{texts.settings.keys}</p>
          <label data-keys hidden>
            <input type="checkbox" /> {texts.settings.singleKeys}
          </label>
          <noscript>
            <p>{texts.settings.withoutScripts}</p>
          </noscript>
        </section>
      </>
    ),
  };
}

function Notifications({ shown, view }: { shown: Shown; view: View }): VNode {
  const { available, channels, muted, quiet_hours: quiet } = shown;
  const again = view.refused !== undefined || view.unsent !== undefined;
  const picked = (field: string) => new Set(sent(view, field).split(', '));
  const onChannels = again ? picked('channels') : new Set(channels ?? available.channels);
  const told = again ? picked('told') : new Set<string>(available.kinds.filter((kind) => !muted.includes(kind)));
  const text = (field: string, stored: string | undefined) => (again ? sent(view, field) : (stored ?? ''));
  return (
    <PostForm action={to(view, 'preferences')} view={view} class="card" keeps>
      <Refused view={view} labels={labels} />
      <Checks
        name="told"
        legend={labels.told}
        items={available.kinds.map((kind) => [kind, texts.settings.kinds[kind]])}
        checked={told}
      />
      <Checks
        name="channels"
        legend={labels.channels}
        items={available.channels.map((channel) => [channel, channel])}
        checked={onChannels}
      />
      <p class="hint">{texts.settings.quietHint}</p>
      <div class="filters">
        <Field
          view={view}
          name="quiet_from"
          label={labels.quiet_from}
          control={(ties) => <input {...ties} type="time" value={text('quiet_from', quiet?.from)} />}
        />
        <Field
          view={view}
          name="quiet_to"
          label={labels.quiet_to}
          control={(ties) => <input {...ties} type="time" value={text('quiet_to', quiet?.to)} />}
        />
        <Field
          view={view}
          name="time_zone"
          label={labels.time_zone}
          control={(ties) => (
            <input {...ties} type="text" placeholder="Europe/Berlin" value={text('time_zone', quiet?.time_zone)} />
          )}
        />
      </div>
      <button type="submit">{texts.settings.save}</button>
    </PostForm>
  );
}

function Checks(props: {
  name: string;
  legend: string;
  items: readonly (readonly [value: string, text: string])[];
  checked: ReadonlySet<string>;
}): VNode {
  return (
    <fieldset class="checks" id={props.name}>
      <legend>{props.legend}</legend>
      {props.items.map(([value, text]) => (
        <label key={value}>
          <input type="checkbox" name={props.name} value={value} checked={props.checked.has(value)} /> {text}
        </label>
      ))}
    </fieldset>
  );
}
