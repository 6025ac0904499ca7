import Negotiator from 'negotiator';

/** Parameters other than `q`: `application/json; charset=utf-8` accepts JSON, which has no charset that it could differ in. */
const parameters = /;\s*(?!q\s*=)[^;,]*/gi;

/** A range whose weight is not between 0 and 1 (RFC 9110, section 12.4.2). It is ignored: what it means is not known. */
const invalidWeights = /[^,]*;\s*q\s*=\s*(?!(?:0(?:\.\d*)?|1(?:\.0*)?)\s*(?:,|$))[^,]*/gi;

function parse(accept: string): Negotiator {
  return new Negotiator({ headers: { accept: accept.replace(parameters, '').replace(invalidWeights, '') } });
}

/**
 * Returns the media type to answer with (RFC 9110, section 12.5.1): the offer with the highest quality, then the one that the
 * client named most exactly, then the one that it named first. No header accepts everything, and the first offer is what a
 * client without a preference gets; undefined when nothing offered is acceptable (406).
 */
export function negotiate(header: string | undefined, offers: readonly string[]): string | undefined {
  if (header === undefined || header === '' || header === '*/*') return offers[0];
  // What programs send: one type, written as we write it.
  if (offers.includes(header)) return header;
  return parse(header).mediaTypes([...offers])[0];
}

/** Returns whether the client named this media type itself, and did not merely accept anything. */
export function names(header: string | undefined, mediaType: string): boolean {
  if (header === undefined) return false;
  if (header === mediaType) return true;
  return parse(header)
    .mediaTypes()
    .some((named) => named.toLowerCase() === mediaType);
}
