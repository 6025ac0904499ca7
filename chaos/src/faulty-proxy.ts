import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/**
 * How a connection is lost: both ends at once with RST; both ends in order; only what comes from the server; or the
 * server's end alone, without a word to the client, whose bytes then go nowhere.
 */
export type Loss = 'reset' | 'close' | 'half-close' | 'half-open';

export interface FaultyProxy extends AsyncDisposable {
  port: number;
  /** Resets every new connection at once, until told otherwise. */
  refuse(refusing: boolean): void;
  /** Loses every open connection now. */
  lose(loss: Loss): void;
  /** Loses the next connection, or an open one, when so many more chunks have come by in either direction. */
  loseAfter(chunks: number, loss: Loss): void;
  /** Holds every chunk back for so many milliseconds, in both directions and in order. */
  delay(milliseconds: number): void;
  /**
   * Swallows what either end sends, and accepts connections still. Connections that are open at any time of it stay mute
   * for ever, as after a firewall that lost its table; new ones work once it is over.
   */
  swallow(swallowing: boolean): void;
  /**
   * Asked with every answer of the server: true resets the connection in its place, so that what was requested was done
   * and the answer never comes. Undefined ends it.
   */
  loseAnswers(isLost: (() => boolean) | undefined): void;
  /** How often a client has spoken since its server did: the round trips so far. */
  rounds(): number;
}

interface Pair {
  client: Socket;
  server: Socket;
  mute: boolean;
  spokeLast?: 'client' | 'server';
}

/** Starts a TCP proxy on loopback that loses connections, and what goes over them, as it is told. */
export async function startFaultyProxy(target: { host: string; port: number }): Promise<FaultyProxy> {
  const open = new Set<Pair>();
  let planned: { left: number; loss: Loss } | undefined;
  let refusing = false;
  let swallowing = false;
  let held = 0;
  let rounds = 0;
  let isAnswerLost: (() => boolean) | undefined;

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

  /** Whether a chunk that came by still has somewhere to go. */
  function survives(pair: Pair, from: 'client' | 'server'): boolean {
    if (pair.mute) return false;
    if (planned && planned.left-- <= 0) {
      const { loss } = planned;
      planned = undefined;
      cut(pair, loss);
      return false;
    }
    if (from === 'client' || !isAnswerLost?.()) return true;
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
      if (survives(pair, end)) hold(() => void (to.writable && !pair.mute && to.write(chunk)));
    });
    from.on('end', () => hold(() => void (pair.mute || to.end())));
    from.on('error', () => pair.mute || to.destroy());
    from.on('close', () => {
      // The other end of a mute connection is told nothing; the client's is the one that may notice by itself.
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

/** Runs what it is given after the delay of that moment, and never before what it was given earlier. */
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
