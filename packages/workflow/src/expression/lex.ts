import { ExpressionError } from './error.js';

/** One token of a jq program. A string's interpolations follow it as tokens between round brackets. */
export interface Token {
  type: 'field' | 'variable' | 'word' | 'number' | 'string' | 'format' | 'symbol';
  text: string;
  /** The value of a string without interpolation, and the name of a field or variable. */
  value?: string;
}

const WORD = /(?:[A-Za-z_][A-Za-z0-9_]*::)*[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?/y;
const SPACE = /[ \t\r\n]+/y;
const CLOSER: { [opener: string]: string } = { '(': ')', '[': ']', '{': '}' };

/**
 * Reads jq tokens from `start` to the end, or to the first unmatched `stop`. Where jq and this reader could disagree
 * about what is code (comments that continue over a line, `$ name`), this reader reads more as code or throws. Throws
 * `ExpressionError`.
 */
export function lex(text: string, start = 0, stop?: '}' | ')'): { tokens: Token[]; end: number } {
  const tokens: Token[] = [];
  const open: string[] = [];
  let at = start;

  const match = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0] ?? null;
  };

  while (at < text.length) {
    const char = text.charAt(at);
    const space = match(SPACE);
    if (space) {
      at += space.length;
      continue;
    }
    if (char === '#') {
      while (at < text.length && text[at] !== '\n' && text[at] !== '\r') at += 1;
      continue;
    }
    if (char === '"') {
      at = lexString(text, at, tokens);
      continue;
    }
    const number = match(NUMBER);
    if (number) {
      tokens.push({ type: 'number', text: number });
      at += number.length;
      continue;
    }
    if (char === '.' || char === '$' || char === '@') {
      at += 1;
      const word = match(WORD);
      if (char === '$' && !word) throw syntax('a variable must have its name directly after the $');
      if (char === '@' && !word) throw syntax('a format must have its name directly after the @');
      if (char === '.' && !word) {
        const twice = text[at] === '.';
        tokens.push({ type: 'symbol', text: twice ? '..' : '.' });
        at += twice ? 1 : 0;
        continue;
      }
      const name = word ?? '';
      const type = char === '.' ? 'field' : char === '$' ? 'variable' : 'format';
      tokens.push({ type, text: `${char}${name}`, value: name });
      at += name.length;
      continue;
    }
    const word = match(WORD);
    if (word) {
      tokens.push({ type: 'word', text: word });
      at += word.length;
      continue;
    }
    if ((char === '=' || char === '!') && text[at + 1] === '=') {
      tokens.push({ type: 'symbol', text: `${char}=` });
      at += 2;
      continue;
    }
    if (char in CLOSER) open.push(char);
    if (char === ')' || char === ']' || char === '}') {
      const opener = open.pop();
      if (opener === undefined) {
        if (char === stop) return { tokens, end: at };
        throw syntax(`${char} has no matching opening bracket`);
      }
      if (CLOSER[opener] !== char) throw syntax(`${opener} is closed by ${char}`);
    }
    tokens.push({ type: 'symbol', text: char });
    at += 1;
  }
  if (stop !== undefined) throw syntax(`${stop} is missing`);
  if (open.length > 0) throw syntax(`${open.at(-1)} is not closed`);
  return { tokens, end: at };
}

function lexString(text: string, start: number, tokens: Token[]): number {
  const token: Token = { type: 'string', text: '' };
  tokens.push(token);
  let interpolated = false;
  let at = start + 1;
  while (at < text.length) {
    const char = text[at];
    if (char === '"') {
      token.text = text.slice(start, at + 1);
      if (!interpolated) token.value = plainString(token.text);
      return at + 1;
    }
    if (char === '\\' && text[at + 1] === '(') {
      interpolated = true;
      const inner = lex(text, at + 2, ')');
      tokens.push({ type: 'symbol', text: '(' }, ...inner.tokens, { type: 'symbol', text: ')' });
      at = inner.end + 1;
      continue;
    }
    at += char === '\\' ? 2 : 1;
  }
  throw syntax('a string is not closed');
}

function plainString(quoted: string): string {
  try {
    // A jq string may contain line breaks, a JSON string may not.
    const escaped = quoted.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
    return JSON.parse(escaped) as string;
  } catch {
    throw syntax('a string has an unknown escape');
  }
}

function syntax(message: string): ExpressionError {
  return new ExpressionError('ERR_EXPRESSION_SYNTAX', message);
}
