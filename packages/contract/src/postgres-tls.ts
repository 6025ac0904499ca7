import { readFileSync } from 'node:fs';
import { connect, isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { unfitCodes } from './postgres-session.js';

/** What is read of a certificate and of a connection by TLS: their types in Node, without a need for those types where this is used. */
type Certificate = Record<'subject' | 'issuer', { CN?: unknown; O?: unknown; OU?: unknown } | undefined> & {
  valid_from: string;
  valid_to: string;
  fingerprint256?: string;
};
interface SecureSocket {
  authorizationError: unknown;
  getPeerCertificate(): unknown;
}

/** What `sslmode` demands of a connection, as libpq defines it ("SSL Mode Descriptions" in PostgreSQL's manual). */
export type TlsMode = 'disable' | 'prefer' | 'require' | 'verify-ca' | 'verify-full';

/** The options of Node's `tls.connect` for a connection to a database. */
export interface TlsOptions {
  /** Whether a server that offers no TLS is used without it. */
  optional: boolean;
  ca: string | undefined;
  cert: string | undefined;
  key: string | undefined;
  passphrase: string | undefined;
  /** Returns why the server at the other end is not the one that was meant, after the handshake and before anything is sent. */
  examine(socket: SecureSocket): TlsFault | undefined;
}

export interface DatabaseTls {
  /** The URL without its parameters about TLS, which the drivers read differently. */
  url: string;
  mode: TlsMode;
  /** False without TLS. */
  options: TlsOptions | false;
  /** Starts TLS without asking the server first (PostgreSQL 17). */
  direct: boolean;
}

/** The certificate of the server is not accepted. The message names the certificate and the reason. */
export class TlsFault extends Error {
  readonly code = unfitCodes.certificate;
  /** The same without the names in the certificate, which can be those of machines. */
  readonly summary: string;

  constructor(reason: string, certificate: Certificate) {
    const fingerprint = `SHA-256 ${(certificate.fingerprint256 ?? 'unknown').replaceAll(':', '').slice(0, 16)}…`;
    super(
      `its TLS certificate ${reason}: the certificate of ${nameIn(certificate.subject)}, issued by ${nameIn(certificate.issuer)}, valid from ${certificate.valid_from} to ${certificate.valid_to}, ${fingerprint}`,
    );
    this.name = 'TlsFault';
    this.summary = `The TLS certificate of the database ${reason} (${fingerprint})`;
  }
}

/** An address asks for TLS in a way that cannot be done; the message begins with the parameter. */
export class TlsParameterError extends Error {}

const modes: Record<string, TlsMode> = {
  disable: 'disable',
  // libpq would try without TLS first. Both accept any server, so the difference protects against nothing.
  allow: 'prefer',
  prefer: 'prefer',
  require: 'require',
  'verify-ca': 'verify-ca',
  'verify-full': 'verify-full',
};

/** The parameters of a URL that this module reads. `ssl=true` is what JDBC writes, and libpq reads it as `sslmode=require`. */
const parameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslpassword', 'sslnegotiation', 'ssl'];
/** Parameters of libpq and of node-postgres that change nothing here. A driver would send them to the server, which rejects them. */
const ignored = ['channel_binding', 'gssencmode', 'sslcompression', 'sslsni', 'uselibpqcompat'];
/** Parameters that would be a loss if they were ignored. */
const unsupported = ['sslcrl', 'sslcrldir', 'ssl_min_protocol_version', 'ssl_max_protocol_version'];

/**
 * Reads what the URL of a PostgreSQL demands of TLS, with libpq's meaning: `require` and `prefer` encrypt and verify nothing;
 * `require` with `sslrootcert` is `verify-ca`; `verify-full` also verifies the host, and a numeric one as that address. Without
 * `sslrootcert` the authorities that Node.js trusts count (`NODE_EXTRA_CA_CERTS`). Without `sslmode` it is `prefer`, and for this
 * machine `disable`. Throws `TlsParameterError`.
 */
export function readTls(address: string): DatabaseTls {
  const url = new URL(address);
  const mode = tlsModeOf(address);
  const given = parametersOf(url);
  for (const name of [...parameters, ...ignored]) url.searchParams.delete(name);
  if (mode === 'disable') return { url: url.href, mode, options: false, direct: false };
  const fileOf = (name: string) => {
    const file = given[name];
    return file === undefined || file === 'system' ? undefined : read(name, file);
  };
  const options: TlsOptions = {
    optional: mode === 'prefer',
    ca: fileOf('sslrootcert'),
    cert: fileOf('sslcert'),
    key: fileOf('sslkey'),
    passphrase: given.sslpassword,
    examine: (socket) => examine(socket, mode, hostOf(url)),
  };
  return { url: url.href, mode, options, direct: given.sslnegotiation === 'direct' };
}

/** Returns what the URL of a PostgreSQL demands of TLS, without reading a file. Throws `TlsParameterError`. */
export function tlsModeOf(address: string): TlsMode {
  const url = new URL(address);
  const given = parametersOf(url);
  const mode = modeOf(given, hostOf(url));
  const without = unsupported.find((name) => url.searchParams.has(name));
  if (without !== undefined) throw new TlsParameterError(`${without} is not supported: remove it from the URL`);
  if (given.sslnegotiation === 'direct' && mode === 'prefer') {
    throw new TlsParameterError('sslnegotiation=direct needs sslmode=require or stricter');
  }
  return mode;
}

/**
 * Returns a sentence when a server on another machine is not verified, so that another server could take its place and get the
 * password; undefined otherwise. Throws `TlsParameterError`.
 */
export function explainUnverified(address: string): string | undefined {
  const mode = tlsModeOf(address);
  if (mode === 'verify-ca' || mode === 'verify-full' || isThisMachine(hostOf(new URL(address)))) return undefined;
  const encrypted = {
    disable: 'neither encrypts nor',
    prefer: 'encrypts where the server offers it, and does not',
    require: 'encrypts, and does not',
  };
  return `sslmode=${mode} ${encrypted[mode]} ${mode === 'disable' ? 'verifies' : 'verify'} the server, so another one could take its place`;
}

function parametersOf(url: URL): Record<string, string | undefined> {
  return Object.fromEntries(parameters.map((name) => [name, url.searchParams.get(name) ?? undefined]));
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** Returns the options of `tls.connect`: Node verifies nothing by itself, and `examine` verifies what the mode demands. */
export function examinedOptions(options: TlsOptions): TlsOptions & { rejectUnauthorized: false } {
  return { ...options, rejectUnauthorized: false };
}

/**
 * Returns the options of `tls.connect` for a driver that cannot examine a connection itself: Node verifies it and ends it. `address`
 * is the URL that `readTls` read.
 */
export function verifiedOptions({ mode, options, url }: DatabaseTls) {
  if (options === false) return false;
  const { optional: _, examine: __, ...rest } = options;
  const host = hostOf(new URL(url));
  return {
    ...rest,
    rejectUnauthorized: mode === 'verify-ca' || mode === 'verify-full',
    // Node would verify the name `localhost` where the host is an address.
    checkServerIdentity: (_name: string, certificate: unknown) =>
      mode === 'verify-full' ? checkServerIdentity(host, certificate as never) : undefined,
  };
}

/** The message with which a client asks a PostgreSQL server whether it offers TLS (SSLRequest). */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * Asks the server of a URL whether it offers TLS, for a driver that cannot go on without it. Rejects when the server is not
 * reachable within `milliseconds`.
 */
export function offersTls(address: string, milliseconds: number): Promise<boolean> {
  const url = new URL(address);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(url.port || 5432), hostOf(url));
    const fail = (code: string) => reject(Object.assign(new Error('the database does not respond'), { code }));
    socket.setTimeout(milliseconds, () => {
      fail('ETIMEDOUT');
      socket.destroy();
    });
    socket.once('connect', () => socket.write(sslRequest));
    socket.once('data', (answer) => {
      resolve(answer[0] === 'S'.charCodeAt(0));
      socket.destroy();
    });
    socket.once('error', reject);
    socket.once('close', () => fail('ECONNRESET'));
  });
}

function modeOf({ sslmode, sslrootcert, ssl }: Record<string, string | undefined>, host: string): TlsMode {
  if (sslmode === undefined && ssl === undefined && sslrootcert === undefined)
    return isThisMachine(host) ? 'disable' : 'prefer';
  const asked = sslmode ?? (sslrootcert === 'system' ? 'verify-full' : ssl === 'true' ? 'require' : 'prefer');
  const mode = modes[asked];
  if (mode === undefined) {
    throw new TlsParameterError(`sslmode=${asked} is not one of ${Object.keys(modes).join(', ')}`);
  }
  if (sslrootcert === 'system' && mode !== 'verify-full') {
    throw new TlsParameterError(`sslrootcert=system needs sslmode=verify-full, not ${asked}`);
  }
  if (mode === 'verify-ca' && sslrootcert === undefined) {
    throw new TlsParameterError(
      'sslmode=verify-ca needs sslrootcert, the file of the authority: with any authority it would accept any server; or use verify-full',
    );
  }
  return mode === 'require' && sslrootcert !== undefined ? 'verify-ca' : mode;
}

/** Returns why a server is not the one that was meant. Without verification there is no reason. */
function examine(socket: SecureSocket, mode: TlsMode, host: string): TlsFault | undefined {
  if (mode !== 'verify-ca' && mode !== 'verify-full') return undefined;
  const certificate = socket.getPeerCertificate() as Certificate;
  const chain: unknown = socket.authorizationError;
  // With `rejectUnauthorized: false`, Node adds its own check of a name here, which is not the host where that is an address.
  if (chain && codeOf(chain) !== 'ERR_TLS_CERT_ALTNAME_INVALID')
    return new TlsFault(explain(codeOf(chain)), certificate);
  if (mode === 'verify-full' && checkServerIdentity(host, certificate as never) !== undefined) {
    const what = isIP(host) === 0 ? 'the name' : 'the address';
    return new TlsFault(`is not for ${what} in the URL`, certificate);
  }
  return undefined;
}

const reasons: Record<string, string> = {
  SELF_SIGNED_CERT_IN_CHAIN: 'is signed by an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT: 'is signed by an authority that is not trusted here',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'is signed by an authority that is not trusted here',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'is signed by an authority that is not trusted here',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'is self-signed and not trusted here',
  CERT_HAS_EXPIRED: 'has expired',
  CERT_NOT_YET_VALID: 'is not valid yet',
};

function explain(code: string): string {
  return `${reasons[code] ?? 'is not trusted'} (${code})`;
}

function codeOf(error: unknown): string {
  if (typeof error === 'string') return error;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'unknown';
}

function nameIn(name: Certificate['subject']): string {
  const [first] = [name?.CN, name?.O, name?.OU].flat().filter((one) => typeof one === 'string');
  return first ?? 'an unnamed subject';
}

function read(parameter: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new TlsParameterError(`${parameter}: the file ${file} cannot be read (${codeOf(error)})`);
  }
}

function isThisMachine(host: string): boolean {
  return (
    host === '' || host === 'localhost' || host === '::1' || /^127(\.\d+){3}$/.test(host) || host.startsWith('%2F')
  );
}
