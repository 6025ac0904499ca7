/** Returns the forms of a page with their fields. Reads only the HTML that occurs in the pages of our tests. */
export function parse(page: string): { action: string; fields: Record<string, string> }[] {
  return [...page.matchAll(/<form[^>]*action="([^"]*)"[^>]*>(.*?)<\/form>/gs)].map(([, action = '', body = '']) => ({
    action: decode(action),
    fields: Object.fromEntries(
      [...body.matchAll(/<input[^>]*name="([^"]*)"[^>]*value="([^"]*)"/g)].map(([, name = '', value = '']) => [
        decode(name),
        decode(value),
      ]),
    ),
  }));
}

function decode(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&lt;', '<').replaceAll('&amp;', '&');
}
