/** Asks the server; every address is relative to the page's own, which has the token. */

/** Undefined for what is not there. @throws Error when the server cannot be reached or fails. */
export async function ask<T>(
  what: string,
  query: Readonly<Record<string, string | number>> = {},
): Promise<T | undefined> {
  const given = new URLSearchParams(
    Object.entries(query).map(([name, value]) => [name, String(value)]),
  ).toString();
  const response = await fetch(`./api/${what}${given === '' ? '' : `?${given}`}`);
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}

/** A file of the page. */
export async function askText(path: string): Promise<string | undefined> {
  const response = await fetch(`./${path}`);
  return response.ok ? response.text() : undefined;
}
