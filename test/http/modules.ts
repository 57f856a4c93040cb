/** The modules of src/core/http, as they are built, or from a copy with a slip in it (slips.ts). */

const SOURCES = new URL('../../src/', import.meta.url);

export type Http = Awaited<ReturnType<typeof importHttp>>;

/** Imports the modules from a folder that is built as src is. */
export async function importHttp(root = SOURCES) {
  const load = <Module>(path: string): Promise<Module> => import(new URL(path, root).href);
  return {
    ...(await load<typeof import('../../src/core/http/http-server.ts')>(
      'core/http/http-server.js',
    )),
    ...(await load<typeof import('../../src/core/http/handle-request.ts')>(
      'core/http/handle-request.js',
    )),
    ...(await load<typeof import('../../src/core/http/http-error.ts')>('core/http/http-error.js')),
    ...(await load<typeof import('../../src/core/http/http-response.ts')>(
      'core/http/http-response.js',
    )),
    ...(await load<typeof import('../../src/core/http/lingering-close.ts')>(
      'core/http/lingering-close.js',
    )),
  };
}
