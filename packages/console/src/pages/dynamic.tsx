import { limits } from '@belay/contract/limits';
import type { VNode } from 'preact';
import { texts } from '../texts.js';
import { Field, PostForm, Refused, sent } from './parts/form.js';
import type { Outputs, Page, View } from './view.js';
import { durationInWords, listInWords } from './words.js';

type Bounds = Outputs['elevation']['dynamic']['bounds'];

const labels = {
  providers: texts.dynamic.systems,
  permissions: texts.dynamic.permissions,
  groups: texts.dynamic.groups,
  resources: texts.dynamic.resources,
  users: texts.dynamic.recipients,
  workflow: texts.dynamic.workflow,
  duration: texts.dynamic.duration,
  reason: texts.dynamic.reason,
};

/** Renders the form for a custom request, where the configuration allows one. */
export function dynamicPage({ bounds }: Outputs['elevation']['dynamic'], view: View): Page {
  const roles = `${view.basePath}/roles`;
  if (bounds.length === 0) {
    return {
      title: texts.dynamic.title,
      content: (
        <p class="lead">
          {texts.dynamic.notAllowed}
          <a href={roles}>{texts.dynamic.chooseARole}</a>
          {texts.dynamic.instead}
        </p>
      ),
    };
  }
  return {
    title: texts.dynamic.title,
    content: (
      <>
        <p class="lead">
          {texts.dynamic.leadStart}
          <a href={roles}>{texts.dynamic.role}</a>
          {texts.dynamic.leadEnd}
        </p>
        <div class="columns">
          <section aria-labelledby="bounds">
            <h2 id="bounds">{texts.dynamic.bounds}</h2>
            {bounds.map((bound) => (
              <Bound key={bound.provider} bound={bound} />
            ))}
          </section>
          <section aria-labelledby="ask" class="card">
            <h2 id="ask">{texts.dynamic.requestAccess}</h2>
            <DynamicForm bounds={bounds} view={withOneFieldForOthers(view)} />
          </section>
        </div>
      </>
    ),
  };
}

/** Maps issues of `identities` to the form's single field for recipients. */
function withOneFieldForOthers(view: View): View {
  const { refused } = view;
  if (refused?.issues === undefined) return view;
  const issues = refused.issues.map(({ path, message }) => ({ path: path.replace(/^identities/, 'users'), message }));
  return { ...view, refused: { ...refused, issues } };
}

function Bound({ bound }: { bound: Bounds[number] }): VNode {
  const kinds = (['permissions', 'groups', 'resources'] as const).filter((kind) => bound[kind].allow.length > 0);
  return (
    <>
      <h3>{bound.name}</h3>
      <ul>
        {kinds.map((kind) => (
          <li key={kind}>
            {labels[kind]}: <Names names={bound[kind].allow} />
            {bound[kind].deny.length > 0 && (
              <>
                {texts.dynamic.butNever}
                <Names names={bound[kind].deny} />
              </>
            )}
          </li>
        ))}
        <li>
          {texts.dynamic.forUpTo}
          {durationInWords(bound.max_duration)}
        </li>
      </ul>
    </>
  );
}

function Names({ names }: { names: readonly string[] }): VNode {
  return (
    <>
      {names.map((name, index) => (
        <>
          {index > 0 && ', '}
          <code key={name}>{name}</code>
        </>
      ))}
    </>
  );
}

function DynamicForm({ bounds, view }: { bounds: Bounds; view: View }): VNode {
  const [first] = bounds;
  const offered = (kind: 'permissions' | 'groups' | 'resources') => bounds.some((each) => each[kind].allow.length > 0);
  const workflows = [...new Set(bounds.flatMap((each) => each.workflows))];
  const chosen = sent(view, 'providers').split(', ');
  const hints = {
    permissions: texts.dynamic.permissionsHint,
    groups: bounds.length > 1 ? texts.dynamic.groupsHintWithSystem : texts.dynamic.groupsHint,
    resources: texts.dynamic.resourcesHint,
    users: texts.dynamic.recipientsHint,
  };
  const text = (name: keyof typeof hints) => (
    <Field
      view={view}
      name={name}
      label={labels[name]}
      hint={hints[name]}
      control={(ties) => <input {...ties} type="text" value={sent(view, name)} autocomplete="off" spellcheck={false} />}
    />
  );
  return (
    <PostForm action={`${view.basePath}/elevate`} view={view} once={view.once()} keeps>
      <Refused view={view} labels={labels} />
      {bounds.length === 1 ? (
        <input type="hidden" name="providers" value={first?.provider} />
      ) : (
        <fieldset class="field" id="providers">
          <legend>{labels.providers}</legend>
          {bounds.map(({ provider, name }) => (
            <label key={provider}>
              <input type="checkbox" name="providers" value={provider} checked={chosen.includes(provider)} /> {name}
            </label>
          ))}
        </fieldset>
      )}
      {offered('permissions') && text('permissions')}
      {offered('groups') && text('groups')}
      {offered('resources') && text('resources')}
      {bounds.some((each) => each.for_others) && text('users')}
      <Field
        view={view}
        name="reason"
        label={labels.reason}
        hint={texts.dynamic.reasonHint}
        control={(ties) => (
          <textarea {...ties} rows={3} maxLength={limits.reason} required>
            {sent(view, 'reason')}
          </textarea>
        )}
      />
      <Field
        view={view}
        name="duration"
        label={labels.duration}
        hint={texts.dynamic.durationHint(
          listInWords([...new Set(bounds.map((each) => durationInWords(each.default_duration)))]),
        )}
        control={(ties) => <input {...ties} type="text" value={sent(view, 'duration')} autocomplete="off" />}
      />
      {workflows.length > 1 && (
        <Field
          view={view}
          name="workflow"
          label={labels.workflow}
          control={(ties) => (
            <select {...ties}>
              {workflows.map((workflow) => (
                <option key={workflow} value={workflow} selected={sent(view, 'workflow') === workflow}>
                  {workflow}
                </option>
              ))}
            </select>
          )}
        />
      )}
      <button type="submit">{texts.dynamic.requestAccess}</button>
    </PostForm>
  );
}
