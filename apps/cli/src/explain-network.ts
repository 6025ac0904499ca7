const explanations: Record<string, string> = {
  ECONNREFUSED: 'connection refused: no server listens there',
  ECONNRESET: 'the connection was closed',
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name cannot be resolved; check the network',
  ENETUNREACH: 'the network is unreachable',
  EHOSTUNREACH: 'the host is unreachable',
  ETIMEDOUT: 'no response in time',
  UND_ERR_CONNECT_TIMEOUT: 'no response in time',
  UND_ERR_HEADERS_TIMEOUT: 'no response in time',
  CERT_HAS_EXPIRED: 'its certificate has expired, or this machine’s clock is wrong',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, or this machine’s clock is wrong',
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'its certificate is self-signed; set NODE_EXTRA_CA_CERTS to the file of your certificate authority',
  SELF_SIGNED_CERT_IN_CHAIN:
    'its certificate authority is unknown here; set NODE_EXTRA_CA_CERTS to the file of that authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    'its certificate authority is unknown here; set NODE_EXTRA_CA_CERTS to the file of that authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    'its certificate authority is unknown here; set NODE_EXTRA_CA_CERTS to the file of that authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  UND_ERR_SOCKET: 'the connection was closed; if the server uses https, use https',
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not use https; try http',
};

/** Explains a network failure with its fix; returns undefined when the cause is unknown. */
export function explainNetwork(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? '';
    const text = explanations[code];
    if (text !== undefined) return `${text} (${code})`;
    // Several addresses were tried and failed in similar ways; the first failure explains them.
    if (cause instanceof AggregateError && cause.errors.length > 0) return explainNetwork(cause.errors[0]);
  }
  return undefined;
}
