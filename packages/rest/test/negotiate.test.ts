import { describe, expect, it } from 'vitest';
import { names, negotiate } from '../src/negotiate.js';

const json = 'application/json';
const html = 'text/html';

describe('the representation', () => {
  it('is what the client prefers, and ours to choose when it does not care', () => {
    const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';
    const table: [string | undefined, readonly string[], string | undefined][] = [
      [undefined, [json, html], json],
      ['*/*', [json, html], json],
      ['*/*', [html, json], html],
      [browser, [json, html], html],
      [browser, [json], json],
      ['application/json', [html, json], json],
      ['text/html;q=0.4, application/json;q=0.5', [html, json], json],
      ['TEXT/HTML', [json, html], html],
      ['text/*', [json, html], html],
      ['text/html;level=1;q=0.5, */*;q=0.1', [json, html], html],
      ['image/png', [json, html], undefined],
      ['*/*;q=0', [json], undefined],
      ['garbage', [json], undefined],
      // A weight above 1 is invalid, and its range is ignored.
      ['text/html;q=2', [html], undefined],
      ['text/html;q=1.5, application/json;q=0.1', [html, json], json],
      ['application/json;q=1.000, text/html;q=0.9', [html, json], json],
      ['application/json; charset=utf-8', [json, html], json],
      // With equal quality, the exact name comes first, then the order of the header.
      ['application/json, */*', [html, json], json],
      ['application/json, text/html', [html, json], json],
      ['text/html, application/json', [json, html], html],
    ];
    for (const [header, offers, expected] of table) {
      expect([header, negotiate(header, offers)]).toEqual([header, expected]);
    }
  });

  it('is decided by the most specific range, so that a q of 0 excludes', () => {
    expect(negotiate('application/json;q=0, */*', [json, html])).toBe(html);
    expect(negotiate('text/html;q=0.1, text/*;q=0.9, application/json;q=0.5', [html, json])).toBe(json);
  });

  it('counts as named only when the client gives its exact name', () => {
    expect(names('application/json', json)).toBe(true);
    expect(names('text/html, application/json;q=0.1', json)).toBe(true);
    expect(names('*/*', json)).toBe(false);
    expect(names('application/json;q=0', json)).toBe(false);
    expect(names(undefined, json)).toBe(false);
  });
});
