/** The whole program around the core, for core-alone.test.ts: node serve-core.js FILE PORT KEY */

import { createService } from '../../src/core/app/service.ts';
import { createPlainServer } from '../../src/core/http/http-server.ts';
import { openFileStore } from '../../src/core/store/file-store.ts';

const [path = 'pets.json', port = '8080', key = 'secret'] = process.argv.slice(2);
const service = createService({ store: () => openFileStore({ path }), apiKeys: [key] });
await service.open();
const server = createPlainServer(service.listener).listen(Number(port), '127.0.0.1');
server.on('listening', () => console.log(server.address()));
