/**
 * The snapshot: the data file, which is the Pets array of the interface and nothing else.
 *
 *     [␊
 *     {"id":1,"name":"Rex","categoryId":7},␊
 *     {"id":2,"name":"Tom","categoryId":7,"status":"sold"}␊
 *     ]␊
 *     ␠␉␠␠␉…␊      the seal: 32 spaces and tabs
 *
 * JSON cannot tell that a letter in a name was flipped. The seal can, and any JSON reader passes
 * over it: it is the CRC-32 of all bytes up to the closing bracket, in white space, the highest bit
 * first, a tab for 1. A file without a seal is as good, only not protected: so anybody's JSON array
 * of pets, in any layout, can be put in the data file's place. Pets in the form that we write go
 * the fast way (pet-scanner.ts), all others the general one (readPet).
 */

import zlib from 'node:zlib';
import { CLOSE_BRACKET, COMMA, OPEN_BRACKET } from '../base/ascii.ts';
import { JsonSyntaxError, skipSpace } from '../base/json.ts';
import { findInvalidUtf8 } from '../base/utf8.ts';
import { InvalidPetError, readPet } from '../model/encoded-pet.ts';
import { PetRun, scanRun } from '../model/pet-scanner.ts';
import { DamagedFileError } from './damaged-file-error.ts';
import type { DiskFile } from './disk.ts';
import { FileWindow } from './file-window.ts';
import { SEPARATOR } from './pet-block.ts';
import type { PetTable } from './pet-table.ts';

/** The bytes of a snapshot of these pets, chunk by chunk. */
export function* encodeSnapshot(pets: PetTable): Generator<Buffer> {
  let crc = 0;
  const counted = (chunk: Buffer): Buffer => {
    crc = zlib.crc32(chunk, crc);
    return chunk;
  };
  yield counted(Buffer.from('[\n'));
  let isFirst = true;
  for (const chunk of pets.chunks()) {
    if (!isFirst) yield counted(SEPARATOR);
    yield counted(chunk);
    isFirst = false;
  }
  yield counted(Buffer.from(isFirst ? ']' : '\n]'));
  yield Buffer.from(encodeSeal(crc));
}

/**
 * Reads the pets of a snapshot into the table, which must be empty. Rejects with DamagedFileError.
 */
export async function readSnapshot(path: string, file: DiskFile, pets: PetTable): Promise<void> {
  const window = new FileWindow(file);
  const reader = new SnapshotReader(path, pets);
  await window.fill(0);
  for (;;) {
    const used = reader.read(window);
    if (window.atEnd) return reader.finish(window, used);
    await window.fill(used);
  }
}

class SnapshotReader {
  readonly #path: string;
  readonly #pets: PetTable;
  readonly #run: PetRun = new PetRun();
  #expected: 'array' | 'first pet' | 'pet' | 'separator' | 'seal' = 'array';
  #crc = 0;
  #sealText = '';

  constructor(path: string, pets: PetTable) {
    this.#path = path;
    this.#pets = pets;
  }

  /** Reads what the window holds in full, and returns how many bytes that were. */
  read(window: FileWindow): number {
    const { bytes } = window;
    let at = 0;
    try {
      while (this.#expected !== 'seal') {
        at = skipSpace(bytes, at);
        if (at === bytes.length) break;
        at = this.#readItem(bytes, at);
      }
    } catch (error) {
      const isCut = error instanceof JsonSyntaxError && error.offset >= bytes.length;
      if (!isCut || window.atEnd) throw this.#damage(window, at, error);
    }
    const invalid = findInvalidUtf8(bytes.subarray(0, at));
    if (invalid !== undefined) throw this.#damage(window, invalid, 'Not UTF-8');
    this.#crc = zlib.crc32(bytes.subarray(0, at), this.#crc);
    return this.#expected === 'seal' ? this.#readSeal(window, at) : at;
  }

  /** To be called when the file is at its end, `used` being what `read` returned. */
  finish(window: FileWindow, used: number): void {
    if (this.#expected !== 'seal') {
      const complaint = window.position + used === 0 ? 'The file is empty' : 'The array has no end';
      throw this.#damage(window, used, complaint);
    }
    const isSealed = /^\n[ \t]{32}\n$/.test(this.#sealText);
    if (isSealed && this.#sealText !== encodeSeal(this.#crc)) {
      throw new DamagedFileError(
        this.#path,
        undefined,
        'Its content does not match the seal in its last line. If it was changed on purpose, ' +
          'remove the white space after the closing bracket',
      );
    }
  }

  #readItem(bytes: Buffer, at: number): number {
    const byte = bytes[at];
    switch (this.#expected) {
      case 'array':
        if (byte !== OPEN_BRACKET) throw new JsonSyntaxError('an array of pets', bytes, at);
        this.#expected = 'first pet';
        return at + 1;
      case 'separator':
        if (byte !== COMMA && byte !== CLOSE_BRACKET) {
          throw new JsonSyntaxError("',' or ']'", bytes, at);
        }
        this.#expected = byte === COMMA ? 'pet' : 'seal';
        return at + 1;
      default:
        if (byte === CLOSE_BRACKET && this.#expected === 'first pet') {
          this.#expected = 'seal';
          return at + 1;
        }
        at = this.#readPets(bytes, at);
        this.#expected = 'separator';
        return at;
    }
  }

  /** Reads a pet, or as many as the fast way takes at once. */
  #readPets(bytes: Buffer, at: number): number {
    const run = this.#run;
    scanRun(bytes, at, SEPARATOR, run, this.#pets.room);
    if (run.length > 0 && isAscending(run, this.#pets.lastId)) {
      this.#pets.appendRun(bytes, at, run);
      return run.ends[run.length - 1]!;
    }
    const { id, end, pet, status } = readPet(bytes, at);
    const { lastId } = this.#pets;
    if (id <= lastId) {
      throw new InvalidPetError(`id ${id} does not come after ${lastId}: ids must be ascending`);
    }
    this.#pets.append(id, pet, status);
    return end;
  }

  #readSeal(window: FileWindow, at: number): number {
    const { bytes } = window;
    const end = skipSpace(bytes, at);
    if (end < bytes.length) {
      throw this.#damage(window, end, 'Something follows the closing bracket');
    }
    // Only a short rest can be a seal; of a longer one it is enough to know that.
    if (this.#sealText.length < SEAL_LENGTH) this.#sealText += bytes.toString('latin1', at, end);
    return end;
  }

  #damage(window: FileWindow, at: number, complaint: unknown): DamagedFileError {
    if (complaint instanceof JsonSyntaxError) {
      const { offset } = complaint;
      return new DamagedFileError(this.#path, window.position + offset, complaint.complaint);
    }
    const text = complaint instanceof Error ? complaint.message : String(complaint);
    return new DamagedFileError(this.#path, window.position + at, text);
  }
}

function isAscending({ ids, length }: PetRun, lastId: bigint): boolean {
  if (BigInt(ids[0]!) <= lastId) return false;
  for (let i = 1; i < length; i += 1) if (ids[i]! <= ids[i - 1]!) return false;
  return true;
}

/** The rest of the file after the closing bracket: the line's end, and a line with the seal. */
function encodeSeal(crc: number): string {
  const bits = crc.toString(2).padStart(32, '0');
  return `\n${bits.replaceAll('0', ' ').replaceAll('1', '\t')}\n`;
}

const SEAL_LENGTH: number = encodeSeal(0).length;
