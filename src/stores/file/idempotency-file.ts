/**
 * The idempotency file: the idempotency keys of the last checkpoint.
 *
 *     91dc63af 0000007b {"keys":1,"entries":[["9f86d081…c55ad015",8,1795356000000,"5b4e8c1a"],…]}␊
 *     └──────┘ └──────┘                       └───────────────┘  │ └───────────┘  └──────┘
 *      CRC-32   length of the line             key hash         id  expires at    CRC-32 of its pet
 *
 * It is durable before the snapshot of the same checkpoint gets its name. Otherwise a power failure
 * could leave that snapshot without its keys, and a retried create would be stored twice.
 */

import zlib from 'node:zlib';
import type { Memory } from '../../base/memory.ts';
import { MAX_IDEMPOTENCY_KEYS, type KeyEntry } from '../idempotency/key-table.ts';
import type { PetTable } from '../table/pet-table.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { DiskFile } from './disk.ts';
import { encodeLine, hex, isIntact, PREFIX_LENGTH } from './journal-line.ts';
import { readAll } from './read-file.ts';

/** No file is longer: an entry has less than 100 bytes. */
const MAX_BYTES: number = 100 * MAX_IDEMPOTENCY_KEYS;

/** Returns the bytes of an idempotency file with these entries. */
export function encodeIdempotencyFile(memory: Memory, entries: readonly KeyEntry[]): Buffer {
  const items = entries.map(
    ({ key, id, expiresAt, petCrc }) => `["${key}",${id},${expiresAt},"${hex(petCrc)}"]`,
  );
  return encodeLine(memory, `${START}${items.join(',')}${END}`, 0).bytes;
}

/** Resolves with the entries in ascending order of id. Rejects with DamagedFileError. */
export async function readIdempotencyFile(
  path: string,
  file: DiskFile,
  memory: Memory,
): Promise<readonly KeyEntry[]> {
  const bytes = memory.bytes(Math.min(file.stat().sizeBytes, MAX_BYTES));
  await readAll(file, bytes, 0);
  const { length } = bytes;
  const isWhole = isIntact(bytes, 0, length, 0);
  const text = isWhole ? bytes.toString('latin1', PREFIX_LENGTH, length - 1) : '';
  const entries = decodeEntries(text);
  if (entries !== undefined) return entries;
  throw new DamagedFileError({
    path,
    complaint: 'Its content does not match its length and CRC',
    advice:
      'Restore it from the backup that the data file is from; or move it away, as evidence: then ' +
      'the idempotency keys are forgotten, and a create that is sent again is stored again',
  });
}

/** True if the entry's pet is stored, and is the one that the key stored. */
export function fitsPets({ id, petCrc }: KeyEntry, pets: PetTable): boolean {
  const pet = pets.get(id);
  return pet !== undefined && zlib.crc32(pet.text) === petCrc;
}

const START = '{"keys":1,"entries":[';
const END = ']}';
const ENTRY: RegExp = /^\["([0-9a-f]{32})",([1-9][0-9]{0,18}),(-?[0-9]{1,16}),"([0-9a-f]{8})"\]$/;

function decodeEntries(text: string): readonly KeyEntry[] | undefined {
  if (!text.startsWith(START) || !text.endsWith(END)) return undefined;
  const list = text.slice(START.length, -END.length);
  if (list === '') return [];
  const entries: KeyEntry[] = [];
  for (const item of list.split(/(?<=\]),/)) {
    const [, key = '', id = '', expiresAt = '', petCrc = ''] = ENTRY.exec(item) ?? [];
    if (key === '') return undefined;
    entries.push({
      key,
      id: BigInt(id),
      expiresAt: Number(expiresAt),
      petCrc: parseInt(petCrc, 16),
    });
  }
  return entries;
}
