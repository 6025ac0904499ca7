import { describe, expect, it } from 'vitest';
import { foldAddress, foldDomain, foldName, isInDomains, isSameAddress } from '../src/address.js';

describe('an e-mail address', () => {
  it.each([
    ['Rita@Example.COM', 'rita@example.com'],
    ['IVAN@example.com', 'ivan@example.com'],
    ['Élodie@example.com', 'élodie@example.com'],
    ['ИВАН@example.com', 'иван@example.com'],
    ['o.neil+tag@Mail.example.com', 'o.neil+tag@mail.example.com'],
    ['rita@BÜCHER.example', 'rita@xn--bcher-kva.example'],
    ['rita@xn--bcher-kva.example', 'rita@xn--bcher-kva.example'],
  ])('%s is compared as %s', (address, folded) => {
    expect(foldAddress(address)).toBe(folded);
    expect(foldAddress(folded)).toBe(folded);
  });

  it.each([
    ['a capital that has a dot', 'İvan@example.com'],
    ['a small letter without its dot', 'ıvan@example.com'],
    ['a long s', 'ſam@example.com'],
    ['a Kelvin sign', '\u212Aim@example.com'],
    ['a sharp s', 'straße@example.com'],
    ['a capital sharp s', 'straẞe@example.com'],
    ['a final sigma', 'νικος@example.com'],
    ['a capital sigma at the end of a word', 'ΝΙΚΟΣ@example.com'],
    ['a ligature', 'oﬃce@example.com'],
    ['a full-width letter', 'ｒita@example.com'],
    ['a mark beside its letter', 'e\u0301lodie@example.com'],
    ['a dotted capital in the domain', 'ivan@EXAMPLİ.com'],
    ['something invisible', 'ri\u200Bta@example.com'],
    ['a soft hyphen', 'ri\u00ADta@example.com'],
    ['a space', ' rita@example.com'],
    ['a line break', 'rita@example.com\n'],
    ['a zero byte', 'rita@example.com\0'],
    ['half a character', 'rita\uD800@example.com'],
    ['a quoted local part', '"rita"@example.com'],
    ['a comment', 'rita(x)@example.com'],
    ['a list', 'rita@example.com,adam@example.com'],
    ['two at signs', 'rita@evil.example@example.com'],
    ['a dot after the domain', 'rita@example.com.'],
    ['no domain', 'rita@'],
    ['no local part', '@example.com'],
    ['no at sign', 'rita'],
    ['nothing', ''],
    ['no end', `${'a'.repeat(320)}@example.com`],
  ])('with %s is compared with none', (_what, address) => {
    expect(foldAddress(address)).toBeUndefined();
    expect(isSameAddress(address, address)).toBe(false);
  });

  it('folds to itself, and to what no other way of folding contradicts, for every letter there is', () => {
    const contradicted: string[] = [];
    for (let code = 0x21; code <= 0x10ffff; code += 1) {
      const letter = String.fromCodePoint(code);
      const folded = foldAddress(`${letter}@x.example`);
      if (folded === undefined) continue;
      const others = [letter.toLowerCase(), letter.toUpperCase().toLowerCase(), letter.normalize('NFKC').toLowerCase()];
      const agrees = foldAddress(folded) === folded && others.every((other) => `${other}@x.example` === folded);
      if (!agrees) contradicted.push(letter);
    }
    expect(contradicted).toEqual([]);
    expect(foldAddress('a@x.example')).toBe('a@x.example');
  });

  it('is in a domain exactly, in any case, and never by a part of it', () => {
    expect(isInDomains('Rita@Example.com', ['example.com'])).toBe(true);
    for (const other of [
      'rita@sub.example.com',
      'rita@example.com.evil.example',
      'rita@evil.example@example.com',
      'İ@example.com',
    ]) {
      expect(isInDomains(other, ['example.com'])).toBe(false);
    }
    expect(foldDomain('Bücher.example')).toBe('xn--bcher-kva.example');
  });
});

describe('a name of a person or an account', () => {
  it.each([
    ['an address', 'Rita@Example.COM', 'rita@example.com'],
    ['letters that a database in the locale C leaves as they are', 'ÜMIT@Example.com', 'ümit@example.com'],
    ['a user name', 'ÜMIT', 'ümit'],
    ['an I, which a database in Turkish folds to a letter without a dot', 'IVAN', 'ivan'],
    ['a sigma at the end of a word', 'ΟΔΟΣ', 'οδοσ'],
    ['letters of full width', 'ＲＩＴＡ', 'rita'],
    ['a ligature', 'ﬁona', 'fiona'],
  ])('is compared in one form: %s', (_what, name, folded) => {
    expect(foldName(name)).toBe(folded);
    expect(foldName(folded)).toBe(folded);
  });
});
