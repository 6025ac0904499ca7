import { generateKeyPairSync, sign } from 'node:crypto';

/**
 * Returns a new self-signed certificate for these names and IPv4 addresses (RFC 5280), made without a tool and without files.
 * `until` is when it expires, in milliseconds from now.
 */
export function makeCertificate(
  names: readonly string[],
  { addresses = [], until = 365 * 24 * 60 * 60_000 }: { addresses?: readonly string[]; until?: number } = {},
): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(oid([42, 134, 72, 206, 61, 4, 3, 2]));
  const name = sequence(tlv(0x31, sequence(oid([85, 4, 3]), tlv(0x0c, Buffer.from('belay test')))));
  const year = 365 * 24 * 60 * 60_000;
  const validity = sequence(time(Date.now() - year), time(Date.now() + until));
  const alternatives = sequence(
    ...names.map((each) => tlv(0x82, Buffer.from(each))),
    ...addresses.map((each) => tlv(0x87, Buffer.from(each.split('.').map(Number)))),
  );
  const extensions = sequence(
    sequence(oid([85, 29, 19]), tlv(0x04, sequence(tlv(0x01, Buffer.from([255]))))),
    sequence(oid([85, 29, 17]), tlv(0x04, alternatives)),
  );
  const body = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.from([1])),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tlv(0xa3, extensions),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)]);
  const cert = sequence(body, algorithm, tlv(0x03, signature));
  const lines = (cert.toString('base64').match(/.{1,64}/g) ?? []).join('\n');
  return {
    key: String(privateKey.export({ type: 'pkcs8', format: 'pem' })),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

function tlv(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

function sequence(...items: Buffer[]): Buffer {
  return tlv(0x30, Buffer.concat(items));
}

function oid(bytes: number[]): Buffer {
  return tlv(0x06, Buffer.from(bytes));
}

/** Returns a UTCTime: YYMMDDHHMMSSZ. */
function time(at: number): Buffer {
  const text = new Date(at).toISOString().replace(/[-:T]/g, '').slice(2, 14);
  return tlv(0x17, Buffer.from(`${text}Z`));
}
