/** Curl lines for a POSIX shell. The API key is in $API_KEY, so that the line can be shared. */

export function curlLine(url: string, body?: string): string {
  const post = body === undefined ? '' : ` -H 'Content-Type: application/json' -d ${quoted(body)}`;
  return `curl -H "Authorization: Bearer $API_KEY"${post} ${quoted(url)}`;
}

/** Returns the text as one word of a shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
