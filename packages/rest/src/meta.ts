import type { OpenApiMeta } from 'trpc-to-openapi';

/** What our own REST adapter and the OpenAPI document need to know beyond trpc-to-openapi's metadata. */
export interface RestMeta {
  /** Needs no credential. */
  public?: boolean;
  /**
   * A GET that changes something, which the person confirms first in a browser (docs/interface.md, section 16, rule 3); with
   * `elsewhere`, only when the link was not on a page of Belay.
   */
  confirm?: { when: 'always' | 'elsewhere'; title: string };
  /** The body is this field as raw text, not an object. */
  textBody?: string;
  /** The body, of one of these media types, is this field exactly as it was sent, because its signature is verified. */
  rawBody?: { field: string; types: readonly string[] };
  /** Fields that a POST reads from the query. */
  query?: string[];
  /**
   * Responds with this redirect instead of a body, always or unless the client requested JSON; 303 is for the forms of a
   * browser.
   */
  redirect?: { status: 302 | 303 | 307; always: boolean };
  /** The operation has a page; `preferred`: a client without a preference gets the page, and not JSON. */
  html?: 'preferred' | 'offered';
  /** How many items of a list a browser gets when its address has no `limit`, because a page of all items is too long to read. */
  shown?: number;
  /** The output has numbers, which a scraper can read as text. Those in `counters` never fall while the process runs. */
  metrics?: { counters: readonly string[] };
  /**
   * The output is a page of a long list. As `application/x-ndjson` the adapter writes page after page, with `next` of each page as
   * the `cursor` of the following one.
   */
  stream?: 'logs';
  /**
   * The columns of the same list as `text/csv`, for a client that requests it by `Accept` or, as a link in a page does,
   * by the field `format`.
   */
  csv?: readonly string[];
  /** The path of the form to which a browser is redirected when it opens this address without input. */
  emptyForm?: string;
  /** POST is served like GET, for a client that a 307 redirects here after a POST. */
  alsoPost?: boolean;
  /**
   * Other sites post a form here. The operation ignores the login, so it can do nothing in the name of the signed-in
   * person.
   */
  fromElsewhere?: boolean;
  /**
   * A GET that changes something and that other sites link or redirect to: the start and the callback of a sign-in. Its procedure
   * protects itself.
   */
  fromAnywhere?: boolean;
  /** One field of the output is a document of this type, which a client without a preference gets. */
  document?: { field: string; type: string };
  /** Also served without the prefix, where orchestrators look. */
  atRoot?: boolean;
}

export type Meta = OpenApiMeta & { rest?: RestMeta };
