import { type Check, failed, noServerHere, type Outcome, ok, warning } from '../check.js';

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Checks that people reach the server at an encrypted or local address, and that the proxy settings match it. */
export const baseUrl: Check = {
  name: 'base URL',
  run: async ({ local }) => {
    const server = await local();
    if (server === undefined) return noServerHere;
    const { baseUrl: given, host, port, trustProxy } = server;
    const onlyHere = loopback.test(host.includes(':') ? `[${host}]` : host);
    if (given === undefined) {
      return onlyHere
        ? ok(`http://${host}:${port}, for this machine only`)
        : failed(`HOST is ${host} and BELAY_BASE_URL is not set`, 'set BELAY_BASE_URL to the address that people open');
    }
    const url = new URL(given);
    const outcomes: Outcome[] = [];
    if (url.protocol === 'http:' && !loopback.test(url.hostname)) {
      outcomes.push(
        failed(
          `${given} is not encrypted: logins can be intercepted`,
          'use https, for example with a proxy in front of Belay',
        ),
      );
    }
    if (url.protocol === 'https:' && trustProxy === undefined) {
      outcomes.push(
        warning(
          'BELAY_TRUST_PROXY is not set, but there is a proxy in front of Belay',
          'set BELAY_TRUST_PROXY to the number of proxies, for example 1; without it, all clients share one rate limit',
        ),
      );
    }
    if (url.protocol === 'http:' && trustProxy !== undefined) {
      outcomes.push(
        warning(
          'BELAY_TRUST_PROXY is set without https',
          'unset it if there is no proxy: clients can forge their address',
        ),
      );
    }
    return outcomes.length > 0 ? outcomes : ok(given);
  },
};
