import Negotiator from 'negotiator';

/** Parameters other than `q`. They are ignored: `application/json; charset=utf-8` accepts JSON, which is always UTF-8. */
const parameters = /;\s*(?!q\s*=)[^;,]*/gi;

/** A range whose weight is not between 0 and 1 (RFC 9110, section 12.4.2). It is ignored, because its meaning is unknown. */
const invalidWeights = /[^,]*;\s*q\s*=\s*(?!(?:0(?:\.\d*)?|1(?:\.0*)?)\s*(?:,|$))[^,]*/gi;

function parse(accept: string): Negotiator {
  return new Negotiator({ headers: { accept: accept.replace(parameters, '').replace(invalidWeights, '') } });
}

/**
 * Returns the media type of the response (RFC 9110, section 12.5.1): the offer with the highest quality, then the one that the
 * client named most exactly, then the one that it named first. A client without a header or a preference gets the first offer.
 * Undefined when no offer is acceptable (406).
 */
export function negotiate(header: string | undefined, offers: readonly string[]): string | undefined {
  if (header === undefined || header === '' || header === '*/*') return offers[0];
  // The usual header of a program: exactly one of our types.
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
