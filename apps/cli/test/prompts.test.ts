import { PassThrough } from 'node:stream';
import { describe, expect, it, vi } from 'vitest';
import { createTerminalPrompts } from '../src/terminal-prompts.js';

describe('questions at a terminal', () => {
  it('escape control characters of the server', async () => {
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

const roles = ['admin', 'jobs-read', 'kafka-admin', 'kafka-read'].map((value) => ({ value, label: value }));

/** Opens a prompt into which keys are typed one after the other, because readline treats input that comes at once as a paste. */
async function asked() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let shown = '';
  output.on('data', (chunk) => {
    shown += String(chunk);
  });
  const answer = createTerminalPrompts(input, output).select('Which role?', roles);
  const sees = (text: string) => vi.waitFor(() => expect(shown).toContain(text), { timeout: 15_000 });
  await sees('Which role?');
  return {
    answer,
    sees,
    shown: () => shown,
    /** Types keys, and waits until the screen has changed. */
    async types(keys: string) {
      for (const key of keys.startsWith('\u001b') ? [keys] : keys) {
        const before = shown.length;
        input.write(key);
        await vi.waitFor(() => expect(shown.length).toBeGreaterThan(before), { timeout: 15_000 });
      }
    },
  };
}

const down = '\u001b[B';

describe('a choice of several', () => {
  it('selects nothing by default', async () => {
    const question = await asked();
    await question.types('\r');
    await question.sees('Type part of a name');
    await question.types(down);
    await question.types('\r');
    expect(await question.answer).toBe('admin');
  });

  it('takes letters such as j and k for text, and shows what contains them', async () => {
    const question = await asked();
    await question.types('j');
    await question.sees('(1 match)');
    await question.types('\r');
    expect(await question.answer).toBe('jobs-read');
  });

  it('selects nothing while several choices match the typed text', async () => {
    const question = await asked();
    await question.types('kafka');
    await question.sees('(2 matches)');
    await question.types('\r');
    await question.sees('2 match');
    await question.types('-r');
    await question.types('\r');
    expect(await question.answer).toBe('kafka-read');
  });

  it('selects an exact name even when other names contain it', async () => {
    const question = await asked();
    await question.types('admin');
    await question.types('\r');
    expect(await question.answer).toBe('admin');
  });
});
