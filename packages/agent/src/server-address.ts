import { StartError } from '@belay/program';

/**
 * Returns the address of a server as it is kept, without a slash at its end. Throws `StartError` for one that is not https, unless it
 * is on this machine: credentials and sessions travel there, and the key that is pinned at the enrolment comes from there. Nor
 * for one that says more than where the server is: before an @ a host can be pretended, and no path follows a ? or a #.
 */
export function requireServerAddress(address: string): string {
  if (/[?#@]/.test(address)) {
    throw new StartError(
      'BELAY_SERVER is an address with a name, a query or a fragment: use https://belay.example.com',
    );
  }
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isHere = url !== undefined && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && isHere)) return address.replace(/\/+$/, '');
  throw new StartError(
    `BELAY_SERVER is ${JSON.stringify(address)}: use https, e.g. https://belay.example.com; plain http is for a server on this machine`,
  );
}
