import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * How a connection is lost. `reset`: both ends, the client's with RST. `close`: both ends, in order. `half-close`: only the direction
 * from the server to the client. `half-open`: only the server's end; the client is not told, and its bytes are dropped.
 */
export type Loss = 'reset' | 'close' | 'half-close' | 'half-open';

export interface FaultyProxy extends AsyncDisposable {
  port: number;
  /** While `refusing`, resets every new connection immediately. */
  refuse(refusing: boolean): void;
  /** Loses every open connection now. */
  lose(loss: Loss): void;
  /** Passes `chunks` more chunks, of all connections and in either direction, and loses the connection of the chunk after them. */
  loseAfter(chunks: number, loss: Loss): void;
  /** Delays every chunk by so many milliseconds, in both directions and in order. */
  delay(milliseconds: number): void;
  /**
   * While `swallowing`, drops everything that either end sends, but still accepts connections. Connections that are open during this
   * time stay mute for ever, as after a firewall has lost its table; later ones work.
   */
  swallow(swallowing: boolean): void;
  /**
   * Sets a function that is called for every chunk from the server. When it returns true, the connection is reset instead, so that the
   * request was executed but its answer is lost. Undefined removes the function.
   */
  loseAnswers(isLost: ((chunk: Buffer) => boolean) | undefined): void;
  /** Returns the number of round trips so far: how often a client has sent something first, or after its server did. */
  rounds(): number;
}

interface Pair {
  client: Socket;
  server: Socket;
  mute: boolean;
  spokeLast?: 'client' | 'server';
}

/** Starts a TCP proxy on loopback that can lose connections, and delay or drop data. */
export async function startFaultyProxy(target: { host: string; port: number }): Promise<FaultyProxy> {
  const open = new Set<Pair>();
  let planned: { left: number; loss: Loss } | undefined;
  let refusing = false;
  let swallowing = false;
  let held = 0;
  let rounds = 0;
  let isAnswerLost: ((chunk: Buffer) => boolean) | undefined;

  const listener = createServer({ allowHalfOpen: true }, (client) => {
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    const pair: Pair = { client, server: connect({ ...target, allowHalfOpen: true }), mute: swallowing };
    open.add(pair);
    pass(pair, 'client');
    pass(pair, 'server');
  });

  /** Returns whether a chunk is passed on. Cuts the connection when it is to be lost at this chunk. */
  function survives(pair: Pair, from: 'client' | 'server', chunk: Buffer): boolean {
    if (pair.mute) return false;
    if (planned && planned.left-- <= 0) {
      const { loss } = planned;
      planned = undefined;
      cut(pair, loss);
      return false;
    }
    if (from === 'client' || !isAnswerLost?.(chunk)) return true;
    cut(pair, 'reset');
    return false;
  }

  function pass(pair: Pair, end: 'client' | 'server'): void {
    const from = pair[end];
    const to = pair[end === 'client' ? 'server' : 'client'];
    const hold = createDelay(() => held);
    from.on('data', (chunk) => {
      if (end === 'client' && pair.spokeLast !== 'client') rounds += 1;
      pair.spokeLast = end;
      if (survives(pair, end, chunk)) hold(() => void (to.writable && !pair.mute && to.write(chunk)));
    });
    from.on('end', () => hold(() => void (pair.mute || to.end())));
    from.on('error', () => pair.mute || to.destroy());
    from.on('close', () => {
      // When the server closes a mute connection, the client is not told. A client that gives up still closes both ends.
      if (pair.mute && end === 'server') return;
      to.destroy();
      open.delete(pair);
    });
  }

  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  return {
    port: (listener.address() as AddressInfo).port,
    refuse: (refuse) => {
      refusing = refuse;
    },
    lose: (loss) => {
      for (const pair of open) if (!pair.mute) cut(pair, loss);
    },
    loseAfter: (chunks, loss) => {
      planned = { left: chunks, loss };
    },
    delay: (milliseconds) => {
      held = milliseconds;
    },
    swallow: (swallow) => {
      swallowing = swallow;
      for (const pair of open) if (swallow) pair.mute = true;
    },
    loseAnswers: (isLost) => {
      isAnswerLost = isLost;
    },
    rounds: () => rounds,
    async [Symbol.asyncDispose]() {
      for (const { client, server } of open) {
        client.destroy();
        server.destroy();
      }
      await new Promise((resolve) => listener.close(resolve));
    },
  };
}

function cut(pair: Pair, loss: Loss): void {
  if (loss === 'half-open') pair.mute = true;
  else if (loss === 'reset') pair.client.resetAndDestroy();
  else pair.client.end();
  if (loss !== 'half-close') pair.server.destroy();
}

/** Returns a function that runs work after the present delay, and in order. */
function createDelay(milliseconds: () => number): (work: () => void) => void {
  let waiting = 0;
  let last = Promise.resolve();
  return (work) => {
    const delay = milliseconds();
    if (delay === 0 && waiting === 0) {
      work();
      return;
    }
    const due = performance.now() + delay;
    waiting += 1;
    last = last.then(async () => {
      const left = due - performance.now();
      if (left > 0) await new Promise((resolve) => setTimeout(resolve, left));
      waiting -= 1;
      work();
    });
  };
}
