/** The largest answer that is read, unpacked, in bytes: many times what thousands of roles come to. */
const most = 16 * 1024 * 1024;

export const tooLarge = 'ANSWER_TOO_LARGE';

/**
 * `fetch` whose answers end: one that is larger than any configuration is broken off, with an error of the code
 * `ANSWER_TOO_LARGE`, before it has filled the memory of a small program.
 */
export async function fetchBounded(input: string | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  if (response.body === null) return response;
  let read = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      read += chunk.byteLength;
      if (read <= most) controller.enqueue(chunk);
      else controller.error(Object.assign(new Error('the answer is too large'), { code: tooLarge }));
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers });
}
