const start = '\u001b[';

/**
 * Returns what a terminal shows after everything that was written to it, for the part of ECMA-48 that the commands use. Ignores colours and
 * does not wrap lines.
 */
export function renderScreen(written) {
  const lines = [[]];
  let row = 0;
  let column = 0;

  const line = () => {
    while (lines.length <= row) lines.push([]);
    return lines[row];
  };

  function control(parameters, final) {
    const count = Number.parseInt(parameters, 10) || 0;
    if (final === 'A') row = Math.max(0, row - (count || 1));
    if (final === 'B') row += count || 1;
    if (final === 'C') column += count || 1;
    if (final === 'D') column = Math.max(0, column - (count || 1));
    if (final === 'G') column = Math.max(0, (count || 1) - 1);
    if (final === 'K') line().length = count === 2 ? 0 : Math.min(line().length, column);
    if (final === 'J') {
      line().length = Math.min(line().length, column);
      lines.length = row + 1;
    }
  }

  function print(text) {
    for (const character of text) {
      if (character === '\r') column = 0;
      else if (character === '\n') row += 1;
      else if (character === '\b') column = Math.max(0, column - 1);
      else {
        const cells = line();
        while (cells.length < column) cells.push(' ');
        cells[column] = character;
        column += 1;
      }
    }
  }

  const [first, ...others] = written.split(start);
  print(first);
  for (const part of others) {
    const [sequence = '', parameters = '', final = ''] = /^([\d;?]*)([A-Za-z])/.exec(part) ?? [];
    control(parameters, final);
    print(part.slice(sequence.length));
  }
  return lines
    .map((cells) => cells.join('').trimEnd())
    .join('\n')
    .trim();
}
