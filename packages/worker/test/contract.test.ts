import { describeJobs } from './support/jobs.js';
import { transports } from './support/transports.js';

for (const transport of transports) if (transport.kind === 'postgres') describeJobs(transport);
