/** Returns the paging fields that have a value. */
export function pageOf({ limit, cursor }: { limit?: number | undefined; cursor?: string | undefined }): {
  limit?: number;
  cursor?: string;
} {
  return { ...(limit === undefined ? {} : { limit }), ...(cursor === undefined ? {} : { cursor }) };
}
