const explanations: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'nobody knows this name',
  EAI_AGAIN: 'names cannot be looked up: is there a network?',
  ENETUNREACH: 'there is no way to this network',
  EHOSTUNREACH: 'there is no way to this machine',
  ETIMEDOUT: 'no answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'no answer in time',
  UND_ERR_HEADERS_TIMEOUT: 'no answer in time',
  CERT_HAS_EXPIRED: 'its certificate has expired, or this clock is wrong',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, or this clock is wrong',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is its own: set NODE_EXTRA_CA_CERTS to the file of your authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'this machine does not know its authority: set NODE_EXTRA_CA_CERTS to its file',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'this machine does not know its authority: set NODE_EXTRA_CA_CERTS to its file',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'this machine does not know its authority: set NODE_EXTRA_CA_CERTS to its file',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  UND_ERR_SOCKET: 'the connection was cut; if it speaks https there, say https',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak https there: try http',
};

/** Why no answer came, in words with the cure in them; undefined when the failure does not say. */
export function explainNetwork(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = (cause as NodeJS.ErrnoException).code ?? '';
    const text = explanations[code];
    if (text !== undefined) return `${text} (${code})`;
    // Several addresses were tried: each has its failure, which are alike.
    if (cause instanceof AggregateError && cause.errors.length > 0) return explainNetwork(cause.errors[0]);
  }
  return undefined;
}
