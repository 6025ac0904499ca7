import type { Socket } from 'node:net';

/** Ends each of two sockets when the other ends, and keeps both in `sockets` while they are open. */
export function tie(one: Socket, other: Socket, sockets: Set<Socket>): void {
  for (const [socket, peer] of [
    [one, other],
    [other, one],
  ] as const) {
    sockets.add(socket);
    socket
      .on('error', () => {})
      .on('close', () => {
        sockets.delete(socket);
        peer.destroy();
      });
  }
}
