import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Collects memory again and again until it is disposed. Each pause is twice as long as the collection before it, so that a heap
 * that takes long to collect does not keep the event loop from everything else.
 */
export function collectMemory(): Disposable {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let timer: NodeJS.Timeout;
  const round = () => {
    const began = performance.now();
    collect();
    timer = setTimeout(round, 2 * (performance.now() - began) + 5);
  };
  round();
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
