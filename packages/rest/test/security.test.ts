import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  confirmationToken,
  cookieNames,
  isConfirmationToken,
  isSameOrigin,
  readCredential,
  writeCookie,
} from '../src/security.js';

const plain = cookieNames(new URL('http://127.0.0.1:8080'));
const secure = cookieNames(new URL('https://belay.example.com'));

function request(headers: Record<string, string>): IncomingMessage {
  const message = new IncomingMessage(new Socket());
  Object.assign(message.headers, headers);
  return message;
}

describe('the credential', () => {
  it('is a bearer token or the login cookie', () => {
    expect(readCredential(request({ authorization: 'Bearer abc.def' }), plain)).toEqual({
      token: 'abc.def',
      viaCookie: false,
    });
    expect(readCredential(request({ cookie: 'x=1; belay=abc; y=2' }), plain)).toEqual({
      token: 'abc',
      viaCookie: true,
    });
    expect(readCredential(request({}), plain)).toEqual({ token: null, viaCookie: false });
  });

  it('is the bearer token when both are there, and nothing when the header is another scheme', () => {
    expect(readCredential(request({ authorization: 'bearer abc', cookie: 'belay=def' }), plain)).toEqual({
      token: 'abc',
      viaCookie: false,
    });
    for (const authorization of ['Basic abc', 'Bearer', 'Bearer a b', 'Bearer a,b', '']) {
      expect(readCredential(request({ authorization, cookie: 'belay=def' }), plain).token).toBeNull();
    }
  });

  it('is not read from a cookie that is there twice, nor from one of another name', () => {
    expect(readCredential(request({ cookie: 'belay=a; belay=b' }), plain).token).toBeNull();
    expect(readCredential(request({ cookie: 'belay=a' }), secure).token).toBeNull();
    expect(readCredential(request({ cookie: '__Host-belay=a' }), secure).token).toBe('a');
  });
});

describe('cookies', () => {
  it('are out of reach of scripts and other sites, and with https of other hosts and plain pages', () => {
    expect(writeCookie(secure.login, 'abc', { secure: true, expires: new Date(Date.UTC(2030, 0, 1)) })).toBe(
      '__Host-belay=abc; Path=/; HttpOnly; SameSite=Lax; Secure; Expires=Tue, 01 Jan 2030 00:00:00 GMT',
    );
    expect(writeCookie(plain.flow, 'abc', { secure: false, maxAgeSeconds: 600 })).toBe(
      'belay-flow=abc; Path=/; HttpOnly; SameSite=Lax; Max-Age=600',
    );
  });
});

describe('the origin', () => {
  it('is ours only when the browser says so', () => {
    const origin = 'http://127.0.0.1:8080';
    const verdicts = [
      [{ 'sec-fetch-site': 'same-origin' }, true],
      [{ 'sec-fetch-site': 'none' }, true],
      [{ 'sec-fetch-site': 'same-site' }, false],
      [{ 'sec-fetch-site': 'cross-site' }, false],
      [{ 'sec-fetch-site': 'cross-site', origin }, false],
      [{ origin }, true],
      [{ origin: 'null' }, false],
      [{ origin: 'http://127.0.0.1:8081' }, false],
      [{}, false],
    ] as const;
    for (const [headers, expected] of verdicts) {
      expect([headers, isSameOrigin(request({ ...headers }), origin)]).toEqual([headers, expected]);
    }
  });
});

describe('a confirmation token', () => {
  it('is good for one login and one address', () => {
    const token = confirmationToken('login-a', '/api/v1/elevate?role=x');
    expect(isConfirmationToken(token, 'login-a', '/api/v1/elevate?role=x')).toBe(true);
    expect(isConfirmationToken(token, 'login-b', '/api/v1/elevate?role=x')).toBe(false);
    expect(isConfirmationToken(token, 'login-a', '/api/v1/elevate?role=y')).toBe(false);
    expect(isConfirmationToken(undefined, 'login-a', '/api/v1/elevate?role=x')).toBe(false);
    expect(isConfirmationToken('', 'login-a', '/api/v1/elevate?role=x')).toBe(false);
  });
});
