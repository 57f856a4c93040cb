/** Every check of the kit, against the service with the file store. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { testOwnService } from './own-service.ts';

const folder = mkdtempSync(join(tmpdir(), 'petstore-kit-'));
await testOwnService({ dataFile: join(folder, 'pets.json') });
after(() => rmSync(folder, { recursive: true, force: true }));
