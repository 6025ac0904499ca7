import type { VNode } from 'preact';

const tints = 5;

/** Returns a tint for a text, always the same for the same text. */
export function tintOf(text: string): number {
  let sum = 0;
  for (const character of text) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 9973;
  return sum % tints;
}

/**
 * Returns the initials of a name or an e-mail address: `RR` for `Rita Requester`, `rr` for
 * `rita.requester@example.test`.
 */
export function initialsOf(name: string): string {
  const words = (name.split('@')[0] ?? '').split(/[\s._-]+/).filter((word) => word !== '');
  const letters = words.length > 1 ? [words[0], words.at(-1)] : [words[0]];
  return letters.map((word) => [...(word ?? '')][0] ?? '').join('');
}

/** Renders the initials of a person; the name must be beside them. */
export function Avatar({ name, small = false }: { name: string; small?: boolean }): VNode {
  return (
    <span class={`avatar tint-${tintOf(name)}${small ? ' small' : ''}`} aria-hidden="true">
      {initialsOf(name)}
    </span>
  );
}

/** Renders a person: initials and name. */
export function Person({ name }: { name: string }): VNode {
  return (
    <span class="person">
      <Avatar name={name} small />
      {name}
    </span>
  );
}
