import type { AddressInfo } from 'node:net';
import { type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { makeCertificate } from '../support/certificate.js';

export const certified = makeCertificate(['localhost']);
export const account = { username: 'belay', password: 'a password that no one may read' };

export interface Received {
  mail: ParsedMail;
  raw: string;
  from: string;
  to: string[];
  /** Whether the connection was encrypted; `user` is the login that it used. */
  secure: boolean;
  user: string | undefined;
}

/** A fault of the next mail, and the step at which it occurs. */
export interface Fault {
  at: 'connect' | 'auth' | 'from' | 'recipient' | 'data' | 'accepted';
  /** The status of the server's reply; without it, the connection ends. */
  status?: number;
}

export interface MailServer extends AsyncDisposable {
  port: number;
  received: Received[];
  /** Faults, each for the next mail that reaches its step. */
  faults: Fault[];
  open(): number;
}

/** Starts an SMTP server with TLS and logins on a port of this machine. What it accepts is parsed by another library. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const received: Received[] = [];
  const faults: Fault[] = [];
  const meet = (at: Fault['at'], end: () => void): Error | undefined => {
    const index = faults.findIndex((fault) => fault.at === at);
    const [fault] = index === -1 ? [] : faults.splice(index, 1);
    if (!fault) return undefined;
    if (fault.status === undefined) end();
    // A server may repeat what it received; none of that may reach a reader.
    return Object.assign(new Error(`no: ${account.password} at mail.internal`), { responseCode: fault.status ?? 421 });
  };
  const server = new SMTPServer({
    ...certified,
    logger: false,
    authMethods: ['PLAIN'],
    onConnect: (session, done) => done(meet('connect', () => endOf(session.id))),
    onAuth({ username, password }, session, done) {
      const fault = meet('auth', () => endOf(session.id));
      if (fault) return done(fault);
      if (username === account.username && password === account.password) return done(null, { user: username });
      return done(Object.assign(new Error(`no: ${password}`), { responseCode: 535 }));
    },
    onMailFrom: (_address, session, done) => done(meet('from', () => endOf(session.id))),
    onRcptTo: (_address, session, done) => done(meet('recipient', () => endOf(session.id))),
    onData(stream, session, done) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        const fault = meet('data', () => endOf(session.id));
        if (fault) return done(fault);
        const raw = Buffer.concat(parts).toString('utf8');
        void simpleParser(raw).then((mail) => {
          const { mailFrom, rcptTo } = session.envelope;
          received.push({
            mail,
            raw,
            from: mailFrom ? mailFrom.address : '',
            to: rcptTo.map(({ address }) => address),
            secure: session.secure,
            user: session.user === undefined ? undefined : String(session.user),
          });
          done(meet('accepted', () => endOf(session.id)));
        });
      });
    },
    ...options,
  });
  const endOf = (id: string) => {
    for (const connection of server.connections) if (connection.id === id) connection.close();
  };
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  return {
    port: (server.server.address() as AddressInfo).port,
    received,
    faults,
    open: () => server.connections.size,
    async [Symbol.asyncDispose]() {
      for (const connection of server.connections) connection.close();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
