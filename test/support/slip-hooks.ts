/**
 * Hooks of imports, for slips.ts: a module that is imported with a slip passes it on to all that it
 * imports, and the file that the slip changes is loaded so.
 */

import type { LoadHook, ResolveHook } from 'node:module';

export const resolve: ResolveHook = async (specifier, context, next) => {
  const resolved = await next(specifier, context);
  const { search } = new URL(context.parentURL ?? 'file:');
  return resolved.url.startsWith('file:')
    ? { ...resolved, url: `${resolved.url}${search}` }
    : resolved;
};

export const load: LoadHook = async (url, context, next) => {
  const loaded = await next(url, context);
  const { pathname, searchParams } = new URL(url);
  const slip = JSON.parse(searchParams.get('slip') ?? '[]') as readonly string[];
  if (slip.length === 0) return loaded;
  let source = String(loaded.source);
  for (let at = 0; at < slip.length; at += 3) {
    const [file, line = '', instead = ''] = slip.slice(at);
    if (pathname.endsWith(`/src/${file}`)) source = source.replace(line, () => instead);
  }
  return { ...loaded, source };
};
