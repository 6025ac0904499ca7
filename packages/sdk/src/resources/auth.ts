import type { Transport } from '../transport/create-transport.js';
import type {
  CallOptions,
  CodeExchange,
  ExchangedToken,
  LoggedOut,
  PolledDeviceLogin,
  SignInProviders,
  StartedDeviceLogin,
  Whoami,
} from '../types.js';

/** The caller's login. */
export interface AuthResource {
  /** Returns the providers to sign in with. Needs no login. */
  providers(options?: CallOptions): Promise<SignInProviders>;
  whoami(options?: CallOptions): Promise<Whoami>;
  /** Starts a login on a machine without a browser; `label` describes it to the person who confirms it. */
  startDevice(label?: string, options?: CallOptions): Promise<StartedDeviceLogin>;
  /** Returns whether a person has confirmed the code. The login is returned once. */
  pollDevice(deviceCode: string, options?: CallOptions): Promise<PolledDeviceLogin>;
  /** Exchanges the code from a login's callback for a bearer token. A code works once. */
  exchange(exchange: CodeExchange, options?: CallOptions): Promise<ExchangedToken>;
  /** Ends the caller's login, or only its session with `provider`; the login ends with its last session. */
  logout(provider?: string, options?: CallOptions): Promise<LoggedOut>;
}

export function createAuth(transport: Transport): AuthResource {
  return {
    providers: (options) => transport.query('auth.page', {}, options),
    startDevice: (label, options) => transport.mutate('device.start', label === undefined ? {} : { label }, options),
    pollDevice: (deviceCode, options) => transport.mutate('device.token', { device_code: deviceCode }, options),
    whoami: (options) => transport.query('auth.whoami', undefined, options),
    exchange: (exchange, options) => transport.mutate('auth.token', exchange, options),
    logout: (provider, options) =>
      provider === undefined
        ? transport.mutate('auth.logout', undefined, options)
        : transport.mutate('auth.logoutProvider', { provider }, options),
  };
}
