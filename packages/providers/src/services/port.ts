/** Key material as a key management service wrapped it; it contains no secret. */
export interface WrappedKey {
  wrapped: Uint8Array;
  /** The key that wrapped it, with the version if the service has versions. Some services need it to unwrap. */
  key: string;
}

/** Wraps and unwraps key material with a key that never leaves its service. Failures are `Retryable` or `Terminal`. */
export interface EncryptionService {
  wrap(material: Uint8Array, signal: AbortSignal): Promise<WrappedKey>;
  /** Throws `Terminal` when another key wrapped the material, or when it was changed since. */
  unwrap(wrapped: WrappedKey, signal: AbortSignal): Promise<Uint8Array>;
  /** Checks that the service is reachable and permits both operations, by doing both. */
  check(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The place of a secret: `${vault:path#key}` of the configuration. */
export interface SecretName {
  path: string;
  key: string;
}

/** Reads secrets; never writes. Failures are `Retryable` or `Terminal`. */
export interface VaultService {
  /** Returns the current secret, or undefined when there is no such path, or no such key in it. */
  read(name: SecretName, signal: AbortSignal): Promise<string | undefined>;
  /** Checks that the service is reachable and accepts our credentials. */
  check(signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** A key of this installation by its identifier, derived from `BELAY_SECRET`. */
export interface LocalKey {
  id: string;
  /** 32 bytes. */
  material: Uint8Array;
}

/** The file of the local vault. */
export interface VaultFile {
  /** Returns undefined when there is no such file. */
  read(path: string): Promise<string | undefined>;
  /** Replaces the whole file atomically, readable by its owner only (mode 0600). */
  replace(path: string, text: string): Promise<void>;
}

/** What the services may use; tests replace the I/O here. */
export interface ServiceTools {
  delay(milliseconds: number, signal?: AbortSignal): Promise<void>;
  randomBytes(size: number): Uint8Array;
  /** The process's own clock, in milliseconds. */
  now(): number;
  /** How long one attempt may take, in milliseconds; 3,000 by default. */
  timeout?: number;
  /**
   * The certificate authority of the vendor, as PEM, instead of those that Node.js trusts. Only Azure's clients use it.
   */
  certificateAuthority?: string;
}

/** Further tools of the local vault: its file, and keys, of which the first encrypts and all decrypt. */
export interface LocalTools {
  file: VaultFile;
  /** The path of the file when the configuration has no path. */
  path: string;
  keys(): Promise<readonly LocalKey[]>;
}
