import { OtherTarget, Pending, Retryable, Terminal } from '@belay/providers';
import { describe, expect, it } from 'vitest';
import { publicMessage } from '../src/catalog/authorizer.js';

/** An error of another library, which has the name of an error of Belay. */
function strangerNamed(name: string): Error {
  return Object.assign(new Error('password=hunter2 at db-7.internal'), { name });
}

describe('the message of a failed call of a provider', () => {
  it.each(['Retryable', 'Pending', 'Terminal', 'Disabled', 'OtherTarget'])(
    'does not show what another library throws under the name %s',
    (name) => {
      expect(publicMessage(strangerNamed(name))).toBe('The provider failed unexpectedly');
    },
  );

  it('shows what a connector throws', () => {
    for (const error of [new Retryable('busy'), new Pending('busy'), new Terminal('busy')]) {
      expect(publicMessage(error)).toBe('busy');
    }
    expect(publicMessage(new OtherTarget())).toContain('another target');
  });

  it('can be stored, also when the provider sent NUL or an emoji that is cut', () => {
    const sent = `a\0${'b'.repeat(497)}😀`;
    expect(publicMessage(new Terminal(sent))).toBe(`a\uFFFD${'b'.repeat(497)}`);
  });

  it('says that the provider was late, for a time-out and for a call that was stopped', () => {
    for (const name of ['TimeoutError', 'AbortError']) {
      expect(publicMessage(strangerNamed(name))).toBe('The provider did not respond in time');
    }
  });
});
