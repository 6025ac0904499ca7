import { expect, it } from 'vitest';
import { cutText, hasUnseen, isStorable, isStorableJson, toOneLine, toStorable, withoutUnseen } from '../src/text.js';

it.each(['\0', 'a\0b', '\ud800', 'x\udc00', '\udc00\ud800'])(
  '%j cannot be stored, on its own or inside JSON',
  (text) => {
    expect(isStorable(text)).toBe(false);
    expect(isStorableJson({ list: [text] })).toBe(false);
    expect(isStorableJson({ [text]: 1 })).toBe(false);
  },
);

it.each(['', 'text', '😀', 'é\u0301', '\u2028', '\\u0000'])('%j can be stored', (text) => {
  expect(isStorable(text)).toBe(true);
  expect(isStorableJson({ [text]: [text, 1, null] })).toBe(true);
});

it.each([
  ['a control character', 'a\u0007b', true],
  ['a mark that turns text around', 'a\u202eb', true],
  ['a separator of lines', 'a\u2028b', true],
  ['an umlaut and a space', 'ä b', false],
])('finds %s when it is not displayed', (_what, text, found) => {
  expect(hasUnseen(text)).toBe(found);
  expect(withoutUnseen(text)).toBe(found ? 'a b' : text);
});

it('makes one line of several, and keeps the marks that turn text around', () => {
  expect(toOneLine('a\r\n\tb\u2029\u202ec')).toBe('a b \u202ec');
});

it('replaces the characters that cannot be stored, and only those', () => {
  expect(toStorable('a\0\ud800\udc00\udc00😀')).toBe('a\uFFFD\u{10000}\uFFFD😀');
});

it.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'abc'],
  ['ab😀', 4, 'ab😀'],
  ['ab😀c', 3, 'ab'],
  ['😀', 1, ''],
])('cuts %j to %i characters without half of a surrogate pair', (text, longest, cut) => {
  expect(cutText(text, longest)).toBe(cut);
});
