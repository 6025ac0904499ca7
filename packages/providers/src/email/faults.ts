import { Retryable, Terminal } from '../errors.js';

/** Where the details are: for the log. The words of the server are left out, because they can repeat what it was sent. */
class MailFault extends Error {
  override readonly name = 'MailFault';
  constructor(readonly detail: { code: string; status?: number; command?: string }) {
    super([detail.code, detail.status, detail.command].filter((part) => part !== undefined).join(' '));
  }
}

/** What the server says to these is about this one mail; everything before them is about the connection. */
const ofThisMail = /^(MAIL FROM|RCPT TO|DATA)/;

/** Errors of TLS: nodemailer keeps only their words. */
const certificate = /certificate|altnames|\bSSL|\bTLS/i;

/**
 * Returns what an error of nodemailer comes to. Only a final rejection of this mail is `Terminal`: wrong credentials and certificates are
 * mended by an operator, and the message is still wanted then.
 */
export function explainMailFault(error: unknown): Retryable | Terminal {
  if (error instanceof Retryable || error instanceof Terminal) return error;
  const { code, status, command, words } = read(error);
  const cause = new MailFault({
    code,
    ...(status === undefined ? {} : { status }),
    ...(command === undefined ? {} : { command }),
  });
  if (code === 'EAUTH') {
    if (status !== undefined && status < 500)
      return new Retryable('The mail server cannot check the credentials now', { cause });
    return new Retryable("The mail server does not accept the connector's credentials", { cause });
  }
  if (code === 'ETLS' || (code === 'ESOCKET' && certificate.test(words)))
    return new Retryable('No secure connection to the mail server could be made', { cause });
  if (status === undefined && code === 'EMESSAGE')
    return new Terminal('The message is larger than the mail server accepts', { cause });
  if (status === undefined) return new Retryable('The mail server cannot be reached', { cause });
  if (status >= 500 && command !== undefined && ofThisMail.test(command))
    return new Terminal(`The mail server rejected the message to this recipient (${status})`, { cause });
  return new Retryable(`The mail server cannot accept the message now (${status})`, { cause });
}

/** Returns the same for the check of a provider, where wrong credentials are final. */
export function explainCheckFault(error: unknown): Retryable | Terminal {
  const fault = explainMailFault(error);
  const { code, status } = read(error);
  if (code === 'EAUTH' && (status === undefined || status >= 500))
    return new Terminal(fault.message, { cause: fault.cause });
  return fault;
}

interface Read {
  code: string;
  status?: number;
  command?: string;
  words: string;
}

function read(error: unknown): Read {
  const { code, responseCode, command, message } = (error ?? {}) as Record<string, unknown>;
  return {
    code: typeof code === 'string' ? code : 'unknown',
    ...(typeof responseCode === 'number' ? { status: responseCode } : {}),
    // "AUTH PLAIN", "RCPT TO": nodemailer names the command without what was sent in it.
    ...(typeof command === 'string' ? { command } : {}),
    words: String(message),
  };
}
