import type { IncomingMessage } from 'node:http';
import { InexactNumber, parseExactly } from '@belay/contract/exact-json';
import { refuse } from './refusal.js';

/**
 * Returns the media type of a request's body, without its parameters; undefined when there is no body. Throws 415 for a
 * content encoding and for a charset other than UTF-8.
 */
export function bodyType(request: IncomingMessage): string | undefined {
  const { headers } = request;
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? '0') === 0) return undefined;
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw refuse(415, 'A body with a content encoding is not supported');
  }
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';').map((piece) => piece.trim());
  const charset = parameters.find((parameter) => /^charset=/i.test(parameter))?.slice('charset='.length);
  if (charset !== undefined && !/^"?utf-?8"?$/i.test(charset)) throw refuse(415, 'A body must be UTF-8');
  return type.toLowerCase();
}

/**
 * Returns the whole body as text. Throws 413 when it is longer than `limit` bytes, with `Connection: close`, so that the rest is never
 * read, and 400 when it is incomplete or not UTF-8.
 */
export async function readBody(request: IncomingMessage, limit: number): Promise<string> {
  const tooLarge = () => refuse(413, `A body must have at most ${limit} bytes`, { Connection: 'close' });
  if (Number(request.headers['content-length'] ?? '0') > limit) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  await new Promise<void>((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        request.pause();
        request.removeAllListeners('data');
        reject(tooLarge());
      } else {
        chunks.push(chunk);
      }
    });
    request.once('end', resolve);
    request.once('error', () => reject(refuse(400, 'The body is incomplete')));
    request.once('aborted', () => reject(refuse(400, 'The body is incomplete')));
  });
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw refuse(400, 'The body is not UTF-8');
  }
}

/** Returns the JSON object of a body; no value in it is converted, or changed because a double cannot hold it. Throws 400 for any other text. */
export function parseJsonObject(text: string): Record<string, unknown> {
  let parsed: unknown;
  try {
    parsed = parseExactly(text);
  } catch (error) {
    throw refuse(400, error instanceof InexactNumber ? `The body ${error.message}` : 'The body is not JSON');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw refuse(400, 'The body must be a JSON object');
  }
  return parsed as Record<string, unknown>;
}
