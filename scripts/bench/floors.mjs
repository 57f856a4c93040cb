/**
 * The floors of a read: bare node:http that answers the same bytes to everything, without routing,
 * keys, pets or checks.
 *
 * `naive` is how one writes it first. `fastest` is the fastest way that was found: a flat list for
 * writeHead, the body as a string of bytes; its server has `optimizeEmptyRequests`.
 */

/** A listener that answers with these header fields, in a flat list, and this text. */
export function floorListener(kind, fields, body) {
  const bytes = Buffer.from(body).toString('latin1');
  const listeners = {
    naive(_request, response) {
      response.statusCode = 200;
      for (let i = 0; i < fields.length; i += 2) response.setHeader(fields[i], fields[i + 1]);
      response.end(body);
    },
    fastest(_request, response) {
      response.writeHead(200, fields);
      response.end(bytes, 'latin1');
    },
  };
  return listeners[kind];
}
