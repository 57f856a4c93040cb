/**
 * Checks a data file, with its journal if it has one, and prints how many pets they have, or the
 * first thing that is wrong, and where. It changes nothing, whether or not a service is using them.
 */

import { dataFileOf } from './config.ts';
import type { Command } from '../base/command-line.ts';
import { verifyData } from '../stores/file/data-file.ts';
import { nodeDisk } from '../stores/file/node-disk.ts';

export const checkData: Command = {
  usage: `Usage: petstore check-data [file]

Checks a data file and its journal, and changes nothing. Without a file it
checks PETSTORE_DATA_FILE, or data/pets.json. Exit code 1: damaged or missing.
`,
  operands: 1,
  read({ operands: [named], mistakes }, { env, print }) {
    const path = named ?? dataFileOf(env);
    if (path === undefined) {
      mistakes.push('As configured, the service has no data file: name one');
    }
    return async () => {
      const data = await verifyData(nodeDisk, path!);
      const { length, lastId } = data.pets;
      const { snapshot, snapshotPets, journal, keys, droppedKeys } = data;
      const isJournaled = length > snapshotPets;
      const inJournal = isJournaled ? `, ${length - snapshotPets} of them in the journal only` : '';
      print(`${path}: ${counted(length, 'pet')}, the greatest id is ${lastId}${inJournal}`);
      if (keys.length > 0) print(counted(keys.length, 'idempotency key'));
      if (droppedKeys > 0) {
        const belong = droppedKeys === 1 ? 'belongs to a pet that is' : 'belong to pets that are';
        const many = counted(droppedKeys, 'idempotency key');
        print(`${many} ${belong} missing or different, and will be forgotten`);
      }
      if (snapshot?.hasChecksum === false)
        print('The data file has no checksum line: a changed letter in it would not be noticed');
      if (journal !== undefined && journal.tornBytes > 0) {
        print(`${journal.tornBytes} bytes at the journal's end are a commit that is not complete`);
      }
    };
  },
};

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
