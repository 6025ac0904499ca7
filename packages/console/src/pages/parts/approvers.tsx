import type { VNode } from 'preact';
import { texts } from '../../texts.js';
import type { Outputs } from '../view.js';
import { Avatar } from './people.js';

/** Renders the people who can also decide. */
export function Approvers(props: {
  approvers: Outputs['approvals']['approvers'];
  viewer: string | undefined;
}): VNode | null {
  const { people, more, unknown } = props.approvers;
  const others = people.filter(({ email }) => email !== props.viewer);
  const rest = [...unknown.users, ...unknown.groups.map(texts.approvers.theGroup)];
  if (others.length === 0 && rest.length === 0) return null;
  return (
    <section class="approvers">
      <h2>{texts.inbox.others}</h2>
      <ul class="people">
        {others.map(({ email, name, verdict }) => (
          <li key={email} title={email}>
            <Avatar name={name} small /> {name}
            {verdict !== null && <span class="quiet"> {texts.inbox.verdicts[verdict]}</span>}
          </li>
        ))}
        {rest.map((one) => (
          <li key={one}>{one}</li>
        ))}
        {more && <li class="quiet">{texts.inbox.more}</li>}
      </ul>
    </section>
  );
}
