import { describe } from 'vitest';
import { describeJobs } from '../support/jobs.js';
import { transports } from '../support/transports.js';

const others = transports.filter(({ kind }) => kind !== 'postgres');
describe.runIf(others.length > 0)('where there is a Redis', () => {
  for (const transport of others) describeJobs(transport);
});
