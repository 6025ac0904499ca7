import { expect, it } from 'vitest';
import { CliError } from '../src/cli-error.js';
import { reportFailure } from '../src/output/failure.js';

it('an error names each issue once, with its field', async () => {
  const said = async (message: string, issues: { path: string; message: string }[]) => {
    let text = '';
    const sink = {
      write: (chunk: string) => {
        text += chunk;
        return true;
      },
    };
    await reportFailure(new CliError('invalid', message, { issues }), sink as never, false);
    return text.trim();
  };
  expect(await said('The body is not JSON', [{ path: '', message: 'The body is not JSON' }])).toBe(
    'belay: The body is not JSON',
  );
  expect(await said('reason: is required', [{ path: 'reason', message: 'is required' }])).toBe(
    'belay: reason: is required',
  );
  expect(await said('is required', [{ path: 'reason', message: 'is required' }])).toBe('belay: reason: is required');
  const both = [
    { path: 'reason', message: 'is required' },
    { path: 'duration', message: 'is no duration' },
  ];
  expect(await said('The request is not valid', both)).toBe(
    'belay: The request is not valid: reason: is required; duration: is no duration',
  );
});
