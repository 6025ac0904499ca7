/** What of a page was asked for, without what was not: a field that is there must have a value. */
export function pageOf({ limit, cursor }: { limit?: number | undefined; cursor?: string | undefined }): {
  limit?: number;
  cursor?: string;
} {
  return { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) };
}
