import type { VNode } from 'preact';
import { at } from '../../paths.js';
import { texts } from '../../texts.js';
import type { View } from '../view.js';
import { durationInWords } from '../words.js';

/** Renders the access of a grant with all its parts, which the connector names. */
export function AccessWords({ access }: { access: unknown }): VNode {
  const parts =
    typeof access === 'object' && access !== null && !Array.isArray(access) ? Object.entries(access) : undefined;
  if (parts === undefined || parts.length === 0) return <code>{textOf(access)}</code>;
  const [first] = parts;
  if (parts.length === 1 && first?.[0] === 'role') {
    return (
      <>
        {texts.accessPart.membershipOfTheRole}
        <code>{textOf(first[1])}</code>
      </>
    );
  }
  return (
    <>
      {parts.map(([name, value], index) => (
        <span key={name}>
          {index > 0 && ', '}
          {name} <code>{textOf(value)}</code>
        </span>
      ))}
    </>
  );
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export function ProviderLink({ id, name }: { id: string; view?: View; name?: string | undefined }): VNode {
  return <a href={at('systems', id)}>{name ?? id}</a>;
}

/** Describes what a revocation cannot end at once, so that people know it before they decide. */
export function afterwardsInWords(held: { residual: string; leaves_behind: string | null }): string {
  const ends = /^P(T?0[SMHD])$/.test(held.residual)
    ? texts.accessPart.endsImmediately
    : texts.accessPart.residual(durationInWords(held.residual));
  return held.leaves_behind === null ? ends : `${ends} ${held.leaves_behind}`;
}
