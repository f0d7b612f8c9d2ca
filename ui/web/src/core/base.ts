/** The base path: all URLs of the page and its server lie below it. `<base href>` in index.html names it. */

export function baseUrl(): URL {
  return new URL(".", document.baseURI);
}

/** Returns the URL of a path of the server, such as "api/session". */
export function serverUrl(path: string): string {
  return new URL(path, baseUrl()).href;
}
