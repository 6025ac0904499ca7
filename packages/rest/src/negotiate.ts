interface Range {
  type: string;
  subtype: string;
  quality: number;
}

/** Parses an Accept header (RFC 9110 §12.5.1). Parameters other than `q` are ignored; what cannot be read is left out. */
function parseAccept(header: string): Range[] {
  return header.split(',').flatMap((part) => {
    const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim());
    const match = /^([\w!#$%&'*+.^`|~-]+)\/([\w!#$%&'*+.^`|~-]+)$/.exec(range);
    if (match === null) return [];
    const weight = parameters.find((parameter) => /^q=/i.test(parameter))?.slice(2);
    const quality = weight === undefined ? 1 : Number(weight);
    if (!(quality >= 0 && quality <= 1)) return [];
    return [{ type: (match[1] ?? '').toLowerCase(), subtype: (match[2] ?? '').toLowerCase(), quality }];
  });
}

/** The quality of one media type: the most specific range that matches it decides, not the best. */
function qualityOf(ranges: readonly Range[], offer: string): number {
  const [type = '', subtype = ''] = offer.split('/');
  let best = { specificity: -1, quality: 0 };
  for (const range of ranges) {
    const specificity =
      range.type === type && range.subtype === subtype
        ? 2
        : range.type === type && range.subtype === '*'
          ? 1
          : range.type === '*' && range.subtype === '*'
            ? 0
            : -1;
    if (specificity > best.specificity) best = { specificity, quality: range.quality };
  }
  return best.quality;
}

/**
 * The media type to answer with: the offer with the highest quality, the earlier one when two are equal. No header
 * accepts everything; undefined when nothing offered is acceptable (406).
 */
export function negotiate(header: string | undefined, offers: readonly string[]): string | undefined {
  if (header === undefined || header === '' || header === '*/*') return offers[0];
  const ranges = parseAccept(header);
  let chosen: string | undefined;
  let highest = 0;
  for (const offer of offers) {
    const quality = qualityOf(ranges, offer);
    if (quality > highest) {
      highest = quality;
      chosen = offer;
    }
  }
  return chosen;
}

/** True when the client named this media type itself, and did not merely accept anything. */
export function names(header: string | undefined, mediaType: string): boolean {
  if (header === undefined) return false;
  const [type, subtype] = mediaType.split('/');
  return parseAccept(header).some((range) => range.type === type && range.subtype === subtype && range.quality > 0);
}
