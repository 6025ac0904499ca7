import { Retryable, Terminal } from '../errors.js';

/** The details of an error, for the log. The text of the server is left out, because it can repeat what was sent. */
class MailFault extends Error {
  override readonly name = 'MailFault';
  constructor(readonly detail: { code: string; status?: number; command?: string }) {
    super([detail.code, detail.status, detail.command].filter((part) => part !== undefined).join(' '));
  }
}

/** Responses to these commands are about this one mail; responses before them are about the connection. */
const ofThisMail = /^(MAIL FROM|RCPT TO|DATA)/;

/** Recognizes errors of TLS by their text, because nodemailer keeps nothing else. */
const certificate = /certificate|altnames|\bSSL|\bTLS/i;

/**
 * Converts an error of nodemailer. Only a final rejection of this mail is `Terminal`: an operator can correct wrong credentials and
 * certificates, and the message must still be delivered then.
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

/** Converts an error of nodemailer for the check of a provider, where wrong credentials are `Terminal`. */
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
    // "AUTH PLAIN", "RCPT TO": nodemailer names the command without its arguments.
    ...(typeof command === 'string' ? { command } : {}),
    words: String(message),
  };
}
