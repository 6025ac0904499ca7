/** A number in JSON that a double cannot hold, so that it would become another number, or none. */
export class InexactNumber extends SyntaxError {
  constructor(readonly number: string) {
    super(`contains the number ${cut(number)}, which cannot be represented exactly; it must be sent as a text`);
  }
}

/**
 * Returns the value of a JSON text as `JSON.parse` does. Throws `InexactNumber` where that would silently change a number: a
 * whole number beyond 2^53 that would be written otherwise afterwards (RFC 7493, section 2.2), one that is too large or too
 * small, and a fraction with more digits than a double has. A fraction of up to 17 digits is the nearest double, as it is for
 * the program that wrote it. Throws `SyntaxError` for a text that is not JSON.
 */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // Without so many digits in a row and without an exponent, every number is exact.
  if (!/\d[.\d]{15}|\d[eE]/.test(text)) return value;
  for (const number of numbersIn(text)) if (!isExact(number)) throw new InexactNumber(number);
  return value;
}

/** Yields the numbers of a valid JSON text, without their signs, and skips what is within its strings. */
function* numbersIn(text: string): Generator<string> {
  const number = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
  let at = 0;
  while (at < text.length) {
    if (text[at] === '"') {
      at = endOfString(text, at);
      continue;
    }
    number.lastIndex = at;
    const [found] = isDigit(text.charCodeAt(at)) ? (number.exec(text) ?? []) : [];
    if (found !== undefined) yield found;
    at += found?.length ?? 1;
  }
}

const isDigit = (code: number) => code >= 48 && code <= 57;

/** Returns the position after the string that begins here. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text[end - 1 - escapes] === '\\') escapes += 1;
    if (escapes % 2 === 0) return end + 1;
  }
  return text.length;
}

/** How many significant digits tell any two doubles apart. */
const doubleDigits = 17;

function isExact(number: string): boolean {
  const value = Number(number);
  if (!Number.isFinite(value)) return false;
  const [digits, exponent] = decimalOf(number);
  const [kept, keptExponent] = decimalOf(String(value));
  if (digits === kept && (digits === '' || exponent === keptExponent)) return true;
  return exponent < 0 && digits.length <= doubleDigits && value !== 0;
}

/** Returns a decimal number as its significant digits and the power of ten of the last one. */
function decimalOf(number: string): [digits: string, exponent: number] {
  const [, whole = '', fraction = '', exponent = '0'] = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const all = `${whole}${fraction}`.replace(/^0+/, '');
  let end = all.length;
  while (all[end - 1] === '0') end -= 1;
  return [all.slice(0, end), Number(exponent) - fraction.length + all.length - end];
}

function cut(number: string): string {
  return number.length <= 40 ? number : `${number.slice(0, 40)}…`;
}
