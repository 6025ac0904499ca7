import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

export interface Certified {
  /** The private key in PEM form. */
  privateKey: string;
  /** A self-signed certificate in PEM form. */
  certificate: string;
}

/** Returns a new RSA key with a certificate that has only the required fields (RFC 5280, 4.1). */
export function createCertified(name: string, modulusLength = 2048): Certified {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    certificate: toPem(selfSigned(name, privateKey, publicKey)),
  };
}

function selfSigned(name: string, privateKey: KeyObject, publicKey: KeyObject): Buffer {
  const algorithm = sequence(der(0x06, Buffer.from('2a864886f70d01010b', 'hex')), der(0x05));
  const named = sequence(der(0x31, sequence(der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(name)))));
  const validity = sequence(der(0x17, Buffer.from('250101000000Z')), der(0x17, Buffer.from('490101000000Z')));
  const one = der(0x02, Buffer.from([1]));
  const body = sequence(one, algorithm, named, validity, named, publicKey.export({ type: 'spki', format: 'der' }));
  return sequence(body, algorithm, der(0x03, Buffer.concat([Buffer.from([0]), sign('sha256', body, privateKey)])));
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function der(tag: number, content: Buffer = Buffer.alloc(0)): Buffer {
  const size = content.length;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

function toPem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
