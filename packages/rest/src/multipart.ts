import { refuse, refuseField } from './refusal.js';

/**
 * Returns the fields of a multipart form (RFC 7578) as an urlencoded one, so that both are read alike. `contentType` is the header,
 * with its boundary. Throws 400, for files too: nothing here takes one.
 */
export async function toUrlencoded(contentType: string, body: string): Promise<string> {
  let form: FormData;
  try {
    form = await new Response(Buffer.from(body), { headers: { 'content-type': contentType } }).formData();
  } catch {
    throw refuse(400, 'The body is not a form');
  }
  const fields = new URLSearchParams();
  for (const [name, value] of form) {
    if (typeof value !== 'string') throw refuseField(name, 'is a file; only text is read');
    fields.append(name, value);
  }
  return fields.toString();
}
