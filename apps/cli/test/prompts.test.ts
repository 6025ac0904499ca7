import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { createTerminalPrompts } from '../src/terminal-prompts.js';

describe('questions at a terminal', () => {
  it('show nothing of what a server says as the terminal would obey it', async () => {
    const hostile = 'store\u001b]0;owned\u0007';
    const choice = { value: 'a', label: hostile, hint: hostile };
    const questions = [
      (prompts: ReturnType<typeof createTerminalPrompts>) => prompts.select(hostile, [choice]),
      (prompts: ReturnType<typeof createTerminalPrompts>) => prompts.text(hostile, { placeholder: hostile }),
      (prompts: ReturnType<typeof createTerminalPrompts>) => prompts.confirm(hostile),
    ];
    for (const ask of questions) {
      const [input, output] = [new PassThrough(), new PassThrough()];
      let shown = '';
      output.on('data', (chunk) => {
        shown += String(chunk);
      });
      const left = expect(ask(createTerminalPrompts(input, output))).rejects.toMatchObject({ code: 'aborted' });
      await vi.waitFor(() => expect(shown).toContain('owned'), { timeout: 15_000 });
      input.write('\u0003');
      await left;
      expect(shown).not.toContain('\u001b]0;');
    }
  });
});
