import { Agent, get } from 'node:http';

/** An event stream to read. The parent process sends a list of these, and later `count` to get the number of events. */
interface Stream {
  url: string;
  token: string;
}

let events = 0;

process.on('message', (message: Stream[] | 'count') => {
  if (message === 'count') process.send?.(events);
  else void openAll(message).then(() => process.send?.('open'));
});
process.once('disconnect', () => process.exit(0));

const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });

/** Opens the streams, 50 at a time, because the queue of a server for new connections is limited. */
async function openAll(streams: readonly Stream[]): Promise<void> {
  for (let from = 0; from < streams.length; from += 50) await Promise.all(streams.slice(from, from + 50).map(open));
}

/** Resolves with the first event of a stream. */
function open({ url, token }: Stream): Promise<void> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream' };
    get(url, { agent, headers }, (response) => {
      if (response.statusCode !== 200) throw new Error(`${url}: ${response.statusCode}`);
      response.setEncoding('utf8').on('data', (text: string) => {
        events += text.split(/^id: /m).length - 1;
        resolve();
      });
    });
  });
}
