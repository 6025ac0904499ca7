import { runServer } from '@belay/server';

// Loaded only where there is no configuration: most starts need nothing of it.
await runServer(process, async () => (await import('@belay/demo')).openDemo);
