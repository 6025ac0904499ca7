import { runServer } from './run.js';

await runServer(process);
