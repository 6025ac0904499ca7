import { runServer } from '@belay/server';

await runServer(process);
