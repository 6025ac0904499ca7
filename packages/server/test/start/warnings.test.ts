import { expect, it } from 'vitest';
import { loseConnections } from './lose-connections.js';

// warnings.series.test.ts tries each kind of loss, twice, and on Redis too.
it('prints no warning of Node.js while a busy server loses its connections', async () => {
  expect(await loseConnections('PostgreSQL', ['reset', 'half-close'])).toBe('');
});
