import { expect, it } from 'vitest';
import { isStorable, isStorableJson } from '../src/text.js';

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
