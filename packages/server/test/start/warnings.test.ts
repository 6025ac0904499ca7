import { expect, it } from 'vitest';
import { loseConnections } from './lose-connections.js';

// Each way of losing them, twice, and on Redis too: warnings.series.test.ts.
it('prints no warning of Node.js while a busy server loses its connections', async () => {
  expect(await loseConnections('PostgreSQL', ['reset', 'half-close'])).toBe('');
});
