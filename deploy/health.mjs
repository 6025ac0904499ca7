// The health check of a container: 0 when this server can serve requests. A worker serves no HTTP: it is as healthy as its process.
import { env, stderr } from 'node:process';

const { BELAY_WORKER: worker, PORT: port = '8080' } = env;
if (worker !== 'only') {
  const signal = AbortSignal.timeout(4_000);
  const outcome = await fetch(`http://127.0.0.1:${port}/ready`, { signal }).then(
    ({ ok, status }) => (ok ? undefined : status),
    (error) => error.message,
  );
  if (outcome !== undefined) {
    stderr.write(`/ready: ${outcome}\n`);
    process.exitCode = 1;
  }
}
