import { printable, printableJson } from '@belay/sdk';
import { pino } from 'pino';

/** Fields whose values are replaced with `[secret]`, at the top of an entry or up to two levels deep. */
const secretFields = [
  'authorization',
  'cookie',
  'set-cookie',
  'password',
  'secret',
  'client_secret',
  'secret_access_key',
  'secret_id',
  'credential',
  'credentials',
  'api_key',
  'apiKey',
  'device_code',
  'token',
  'access_token',
  'refresh_token',
  'id_token',
  'code_verifier',
  'connectionString',
];

/** A password inside a URL, as drivers put it into their messages. */
const credentials = /([a-z][a-z\d+.-]*:\/\/[^\s:/@]*):[^\s@/]+@/gi;

/** The log that programs write to. */
export interface Logger {
  debug(detail: object, message: string): void;
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

export interface LoggerOptions {
  level: string;
  /** One readable line per entry instead of JSON, for a terminal. */
  readable: boolean;
  write(line: string): void;
}

/** Returns the log of the process: JSON lines, or readable ones on a terminal. Secrets are removed from both. */
export function createLogger(options: LoggerOptions): Logger {
  const paths = secretFields.flatMap((field) => [`["${field}"]`, `*["${field}"]`, `*.*["${field}"]`]);
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths, censor: '[secret]' },
      serializers: { error: pino.stdSerializers.err, err: pino.stdSerializers.err },
    },
    {
      write: (line: string) => {
        const safe = line.replace(credentials, '$1:[secret]@');
        options.write(options.readable ? toReadable(safe) : printableJson(safe));
      },
    },
  );
}

/** Returns a JSON line in a form for people: `12:34:56.789 warn  message key=value`. */
function toReadable(line: string): string {
  const { time, level, msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
  const details = Object.entries(rest).map(([key, value]) => `${key}=${describe(value)}`);
  return `${printable([String(time).slice(11, 23), String(level).padEnd(5), msg, ...details].join(' '))}\n`;
}

function describe(value: unknown): string {
  if (typeof value === 'string') return /\s/.test(value) ? JSON.stringify(value) : value;
  if (typeof value === 'object' && value !== null && 'message' in value) return JSON.stringify(value.message);
  return JSON.stringify(value) ?? String(value);
}
