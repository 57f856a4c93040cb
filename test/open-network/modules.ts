/** The modules of src/extras/open-network, as they are built, or from a copy with a slip in it. */

const SOURCES = new URL('../../src/', import.meta.url);

export type OpenNetwork = Awaited<ReturnType<typeof importOpenNetwork>>;

/** Imports the modules from a folder that is built as src is. */
export async function importOpenNetwork(root = SOURCES) {
  const load = <Module>(name: string): Promise<Module> =>
    import(new URL(`extras/open-network/${name}.js`, root).href);
  const http = await import(new URL('core/http/http-server.js', root).href);
  return {
    ...(http as typeof import('../../src/core/http/http-server.ts')),
    ...(await load<typeof import('../../src/extras/open-network/open-network-server.ts')>(
      'open-network-server',
    )),
    ...(await load<typeof import('../../src/extras/open-network/parser.ts')>('parser')),
    ...(await load<typeof import('../../src/extras/open-network/stalled-connections.ts')>(
      'stalled-connections',
    )),
  };
}
