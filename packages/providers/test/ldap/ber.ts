/** An element of BER (X.690), with the elements inside it, or its bytes. */
export interface Element {
  tag: number;
  inside: Element[];
  bytes: Buffer;
}

const constructed = 0x20;

export function element(tag: number, content: readonly Element[] | Buffer | string): Element {
  if (typeof content === 'string') return { tag, inside: [], bytes: Buffer.from(content) };
  return Buffer.isBuffer(content)
    ? { tag, inside: [], bytes: content }
    : { tag, inside: [...content], bytes: Buffer.alloc(0) };
}

/** Returns the length of the element at the beginning, its header included (X.690, 8.1.3); undefined before it is known. */
export function lengthOf(bytes: Buffer): number | undefined {
  const first = bytes[1];
  if (first === undefined) return undefined;
  if (first < 0x80) return 2 + first;
  const size = first & 0x7f;
  return bytes.length < 2 + size ? undefined : 2 + size + bytes.readUIntBE(2, size);
}

/** Reads all elements of some bytes. */
export function decode(bytes: Buffer): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const rest = bytes.subarray(at);
    const length = lengthOf(rest) ?? rest.length;
    const [tag = 0, first = 0] = rest;
    const content = rest.subarray(first < 0x80 ? 2 : 2 + (first & 0x7f), length);
    found.push(tag & constructed ? element(tag, decode(content)) : element(tag, content));
    at += length;
  }
  return found;
}

export function encode({ tag, inside, bytes }: Element): Buffer {
  const content = tag & constructed ? Buffer.concat(inside.map(encode)) : bytes;
  const size = Buffer.alloc(4);
  size.writeUInt32BE(content.length);
  const header = content.length < 0x80 ? Buffer.from([tag, content.length]) : Buffer.from([tag, 0x84, ...size]);
  return Buffer.concat([header, content]);
}
