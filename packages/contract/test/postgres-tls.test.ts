import { describe, expect, it } from 'vitest';
import { explainUnverified, readTls, tlsModeOf } from '../src/postgres-tls.js';

describe('the TLS that the URL of a PostgreSQL demands', () => {
  it.each([
    ['postgres://b@localhost/belay', 'disable'],
    ['postgres://b@127.0.0.1/belay', 'disable'],
    ['postgres://b@[::1]/belay', 'disable'],
    ['postgres://b@db.example.com/belay', 'prefer'],
    ['postgres://b@db.example.com/belay?sslmode=allow', 'prefer'],
    ['postgres://b@db.example.com/belay?sslmode=require', 'require'],
    ['postgres://b@db.example.com/belay?ssl=true', 'require'],
    ['postgres://b@db.example.com/belay?sslmode=require&sslrootcert=/ca.pem', 'verify-ca'],
    ['postgres://b@db.example.com/belay?sslrootcert=system', 'verify-full'],
  ])('of %s is %s', (url, mode) => {
    expect(tlsModeOf(url)).toBe(mode);
  });

  it('leaves the other parameters for the driver', () => {
    const { url, direct } = readTls(
      'postgres://b@db.example.com/belay?sslmode=require&sslnegotiation=direct&channel_binding=require&application_name=x',
    );
    expect([url, direct]).toEqual(['postgres://b@db.example.com/belay?application_name=x', true]);
  });

  it('is named where it does not verify a server on another machine', () => {
    const explain = (parameters: string) => explainUnverified(`postgres://b@db.example.com/belay${parameters}`);
    expect(explain('')).toMatch(/^sslmode=prefer encrypts where the server offers it, and does not verify the server/);
    expect(explain('?sslmode=require')).toMatch(/^sslmode=require encrypts, and does not verify the server/);
    expect(explain('?sslmode=disable')).toMatch(/^sslmode=disable neither encrypts nor verifies the server/);
    expect(explain('?sslmode=verify-full')).toBeUndefined();
    expect(explainUnverified('postgres://b@localhost/belay')).toBeUndefined();
  });
});
