import type { OpenApiMeta } from 'trpc-to-openapi';

/** What our own REST adapter and the OpenAPI document need to know beyond trpc-to-openapi's metadata. */
export interface RestMeta {
  /** Needs no credential. */
  public?: boolean;
  /**
   * A GET that changes something: a browser is asked first (docs/interface.md, section 16, rule 3); `elsewhere`: unless
   * a page of Belay sent it.
   */
  confirm?: { when: 'always' | 'elsewhere'; title: string };
  /** The body is this field as raw text, not an object. */
  textBody?: string;
  /** The body, of one of these media types, is this field exactly as it was sent: what a signature is of. */
  rawBody?: { field: string; types: readonly string[] };
  /** Fields that a POST reads from the query. */
  query?: string[];
  /**
   * Answers with this redirect instead of a body, always or unless the client requested JSON; 303 is for forms of a
   * browser.
   */
  redirect?: { status: 302 | 303 | 307; always: boolean };
  /** Other representations than JSON, the first being what a client gets that has no preference. */
  html?: 'preferred' | 'offered';
  /** A list that has a `limit`: how many items a browser gets whose address has no limit, because a page of all is too long to read. */
  shown?: number;
  /** Returns numbers, which a scraper can read as text. Those in `counters` never fall while the process runs. */
  metrics?: { counters: readonly string[] };
  /**
   * A page of a long list: as `application/x-ndjson` the adapter writes page after page, `next` of each being `cursor`
   * of the following.
   */
  stream?: 'logs';
  /**
   * The columns of the same list as `text/csv`, for a client that requests it by `Accept` or, as a link in a page does,
   * by the field `format`.
   */
  csv?: readonly string[];
  /** Where a browser that opens this without any input finds a form for it. */
  emptyForm?: string;
  /** The same answer under POST too, for a browser that was sent here by a 307 after a POST. */
  alsoPost?: boolean;
  /** A form that pages of other sites post here: it does nothing for the signed-in person, and so ignores the login. */
  fromElsewhere?: boolean;
  /**
   * A GET that changes something and that pages of other sites lead to: the way to a provider and back. Its procedure
   * guards itself.
   */
  fromAnywhere?: boolean;
  /** One field of the output is a document of this type, which is what a client gets that has no preference. */
  document?: { field: string; type: string };
  /** Also served without the prefix, where orchestrators look. */
  atRoot?: boolean;
}

export type Meta = OpenApiMeta & { rest?: RestMeta };
