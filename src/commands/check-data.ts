/**
 * Checks a data file, with its journal if it has one, and prints how many pets they have, or the
 * first thing that is wrong, and where. It changes nothing, whether or not a service is using them.
 *
 *     petstore check-data [data/pets.json]
 *
 * Without an argument it checks the data file of the service: PETSTORE_DATA_FILE, or the default.
 * Exit code 0: no problem. 1: damaged or missing. 2: wrong arguments.
 */

import { messageOf } from '../base/log.ts';
import { DEFAULT_DATA_FILE } from '../settings.ts';
import { verifyData } from '../stores/file/data-file.ts';
import { nodeDisk } from '../stores/file/node-disk.ts';

const USAGE = `Usage: petstore check-data [file]

Checks a data file and its journal, and changes nothing. Without a file it
checks PETSTORE_DATA_FILE, or data/pets.json.
`;

const [named, ...others] = process.argv.slice(2);
const wantsHelp = named === '--help' || named === '-h';
if (others.length > 0 || named?.startsWith('-') === true) {
  process[wantsHelp ? 'stdout' : 'stderr'].write(USAGE);
  process.exit(wantsHelp ? 0 : 2);
}
const path = named ?? configuredFile();
if (path === undefined) {
  process.stderr.write('petstore: as configured, the service has no data file: name one\n');
  process.exit(2);
}

try {
  const data = await verifyData(nodeDisk, path);
  const { length, lastId } = data.pets;
  const { snapshot, snapshotPets, journal, keys, droppedKeys } = data;
  const inJournal =
    length === snapshotPets ? '' : `, ${length - snapshotPets} of them in the journal only`;
  console.log(
    `${path}: ${length} ${length === 1 ? 'pet' : 'pets'}, the greatest id is ${lastId}${inJournal}`,
  );
  if (keys.length > 0) {
    console.log(`${keys.length} idempotency ${keys.length === 1 ? 'key' : 'keys'}`);
  }
  if (droppedKeys > 0) {
    const belong =
      droppedKeys === 1 ? 'key belongs to a pet that is' : 'keys belong to pets that are';
    console.log(`${droppedKeys} idempotency ${belong} missing or different, and will be forgotten`);
  }
  if (snapshot?.hasChecksum === false)
    console.log('The data file has no checksum line: a changed letter in it would not be noticed');
  if (journal !== undefined && journal.tornBytes > 0) {
    console.log(
      `${journal.tornBytes} bytes at the journal's end are a commit that is not complete`,
    );
  }
} catch (error) {
  console.error(messageOf(error));
  process.exit(1);
}

/** The data file of a service with this environment; undefined on etcd, and in memory only. */
function configuredFile(): string | undefined {
  const { PETSTORE_DATA_FILE: file, PETSTORE_ETCD: etcd, PETSTORE_MEMORY: memory } = process.env;
  // An empty variable counts as not set.
  if (etcd !== undefined && etcd !== '') return undefined;
  if (file !== undefined && file !== '') return file;
  return memory === 'on' ? undefined : DEFAULT_DATA_FILE;
}
