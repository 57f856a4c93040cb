/** The modules of src/core/http, as they are built, or from a copy with a slip in it (slips.ts). */

const SOURCES = new URL('../../src/', import.meta.url);

export type Http = Awaited<ReturnType<typeof importHttp>>;

/** Imports the modules from a folder that is built as src is. */
export async function importHttp(root = SOURCES) {
  const load = <Module>(name: string): Promise<Module> =>
    import(new URL(`core/http/${name}.js`, root).href);
  return {
    ...(await load<typeof import('../../src/core/http/http-server.ts')>('http-server')),
    ...(await load<typeof import('../../src/core/http/handle-request.ts')>('handle-request')),
    ...(await load<typeof import('../../src/core/http/http-error.ts')>('http-error')),
    ...(await load<typeof import('../../src/core/http/http-response.ts')>('http-response')),
    ...(await load<typeof import('../../src/core/http/lingering-close.ts')>('lingering-close')),
  };
}
