/** Key material as a key management service wrapped it; nothing of it is secret. */
export interface WrappedKey {
  wrapped: Uint8Array;
  /** Which key wrapped it, with its version where the service has versions. The service finds that key again by it. */
  key: string;
}

/** Wraps and unwraps key material with a key that never leaves its service. Failures are `Retryable` or `Terminal`. */
export interface EncryptionService {
  wrap(material: Uint8Array, signal: AbortSignal): Promise<WrappedKey>;
  /** Throws `Terminal` for what was wrapped by another key, or changed since. */
  unwrap(wrapped: WrappedKey, signal: AbortSignal): Promise<Uint8Array>;
  /** Whether it can be asked, and may do both: by doing both. */
  check(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** Where a secret is: `${vault:path#key}` of the configuration. */
export interface SecretName {
  path: string;
  key: string;
}

/** Reads secrets; never writes. Failures are `Retryable` or `Terminal`. */
export interface VaultService {
  /** The secret as it is now, or undefined when there is no such path, or no such key in it. */
  read(name: SecretName, signal: AbortSignal): Promise<string | undefined>;
  /** Whether it can be asked and takes our credentials. */
  check(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A key of this installation by its identifier, made from `BELAY_SECRET`. */
export interface LocalKey {
  id: string;
  /** 32 bytes. */
  material: Uint8Array;
}

/** The one file of the local vault. */
export interface VaultFile {
  /** Undefined when there is no such file. */
  read(path: string): Promise<string | undefined>;
  /** Replaces the whole file at once, readable by nobody else (mode 0600). */
  replace(path: string, text: string): Promise<void>;
}

/** What the services may use; I/O that tests replace comes in here. */
export interface ServiceTools {
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  randomBytes(size: number): Uint8Array;
  /** The process's own clock, in milliseconds. */
  now(): number;
  /** How long one try may take, in milliseconds; 3 seconds by default. */
  timeout?: number;
  /** A PEM that a vendor's certificate may be signed by, beside those that the machine trusts. */
  certificateAuthority?: string;
}

/** What the local vault needs beside: its file, and keys of which the first seals and all open. */
export interface LocalTools {
  file: VaultFile;
  /** Where the file is when the configuration does not say. */
  path: string;
  keys(): Promise<readonly LocalKey[]>;
}
