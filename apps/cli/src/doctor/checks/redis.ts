import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectEncrypted } from 'node:tls';
import { type Check, failed, noServerHere, type Outcome, ok } from '../check.js';

const patience = 3_000;

/** Encodes a command in the protocol of Redis (RESP2). */
function encode(words: string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}

/** Signs in with the credentials of the URL and reads the version. Returns the raw response. Throws when Redis does not respond in time. */
async function ask(address: string): Promise<string> {
  const url = new URL(address);
  const options = { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || 6379) };
  const socket: Socket =
    url.protocol === 'rediss:' ? connectEncrypted({ ...options, servername: options.host }) : connectPlain(options);
  const password = decodeURIComponent(url.password);
  const user = decodeURIComponent(url.username);
  const signIn = password === '' ? '' : encode(['AUTH', ...(user === '' ? [] : [user]), password]);
  return new Promise<string>((resolve, reject) => {
    let answer = '';
    socket.setTimeout(patience, () => reject(new Error('no response in time')));
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
    socket.setEncoding('utf8').on('data', (text: string) => {
      answer += text;
      if (/redis_version:|^-/m.test(answer)) resolve(answer);
    });
    socket.write(`${signIn}${encode(['INFO', 'server'])}`);
  }).finally(() => socket.destroy());
}

async function checkNode(address: string): Promise<Outcome> {
  const { host } = new URL(address);
  try {
    const answer = await ask(address);
    const refusal = /^-(.*)$/m.exec(answer)?.[1];
    if (refusal !== undefined)
      return failed(
        `Redis at ${host} rejected the connection: ${refusal}`,
        'correct the user and password in REDIS_URL',
      );
    const version = /redis_version:(\S+)/.exec(answer)?.[1];
    if (version === undefined) return failed(`the server at ${host} is not Redis`, 'correct REDIS_URL');
    return Number.parseFloat(version) < 6.2
      ? failed(`Redis at ${host} has version ${version}`, 'upgrade it to 6.2 or newer')
      : ok(`Redis ${version} at ${host}`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return failed(`Redis at ${host} cannot be reached (${code ?? message})`, 'start it, or correct REDIS_URL');
  }
}

/** Checks that every node of `REDIS_URL` responds and accepts the credentials. Passwords are never shown. */
export const redis: Check = {
  name: 'redis',
  run: async ({ local }) => {
    const server = await local();
    if (server === undefined) return noServerHere;
    if (server.redisUrl === undefined) return ok('not used: the queue is in the database');
    return Promise.all(server.redisUrl.split(',').map((node) => checkNode(node.trim())));
  },
};
