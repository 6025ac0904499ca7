import { runServer } from '@belay/server';

// The demo is loaded only when there is no configuration: most starts do not need it.
await runServer(process, async () => (await import('@belay/demo')).openDemo);
