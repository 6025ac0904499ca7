import { connect, isIP } from 'node:net';
import { createTransport, type SMTPTransportOptions } from 'nodemailer';
import { refuseWhenAborted, stopped, untilAborted } from '../abort.js';
import type { ConnectorTools, ProviderClient } from '../port.js';
import { createPlaces } from '../turns.js';
import { composeMail } from './compose.js';
import type { EmailConfig } from './config.js';
import { explainCheckFault, explainMailFault } from './faults.js';

/** Connections at once: mail servers limit them for each client. */
const mostAtOnce = 4;
/** How long the server may be silent, in milliseconds: shorter than the limit of a whole call. */
const silence = 10_000;

/** Opens the client of a mail server. Each message has its own connection, so the error of one does not affect another. */
export function openEmail(config: EmailConfig, { now }: ConnectorTools): ProviderClient {
  const transport = createTransport(optionsOf(config));
  const places = createPlaces(mostAtOnce);
  return {
    notifications: {
      deliver: (message, signal) =>
        places.take(signal, async () => {
          const mail = composeMail(config, message, new Date(now()));
          try {
            await transport.sendMail({ ...mail, signal });
          } catch (error) {
            throw signal.aborted ? stopped(signal) : explainMailFault(error);
          }
          return { message_id: mail.messageId };
        }),
    },
    async check(signal) {
      refuseWhenAborted(signal);
      try {
        await untilAborted(transport.verify(), signal);
      } catch (error) {
        throw explainCheckFault(error);
      }
    },
    async close() {
      transport.close();
    },
  };
}

function optionsOf({ host, port, security, ca, username, password }: EmailConfig): SMTPTransportOptions {
  return {
    host,
    port: port ?? (security === 'tls' ? 465 : 587),
    secure: security === 'tls',
    ...(security === 'none' ? { ignoreTLS: true } : { requireTLS: true }),
    tls: {
      minVersion: 'TLSv1.2',
      ...(ca === undefined ? {} : { ca }),
      ...(isIP(host) === 0 ? { servername: host } : {}),
    },
    ...(username === undefined ? {} : { auth: { user: username, pass: password ?? '' } }),
    // When credentials are configured, nothing is sent without them.
    forceAuth: username !== undefined,
    connectionTimeout: silence,
    greetingTimeout: silence,
    socketTimeout: silence,
    getSocket: openSocket,
  };
}

type SocketCallback = Parameters<NonNullable<SMTPTransportOptions['getSocket']>>[1];

/** Connects with the system's resolver, so that names in this machine's hosts file are found. */
function openSocket({ host = '', port }: SMTPTransportOptions, done: SocketCallback): void {
  const socket = connect({ host, port: Number(port), timeout: silence });
  const fail = (error: Error) => {
    socket.destroy();
    done(error);
  };
  const late = () => fail(Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' }));
  socket.once('error', fail).once('timeout', late);
  socket.once('connect', () => {
    socket.removeListener('error', fail).removeListener('timeout', late).setTimeout(0);
    done(null, { connection: socket });
  });
}
