/**
 * Rung 3: the pets in one JSON file, to whose end each commit is written.
 *
 *     API_KEY=secret node src/ladder/3-append.ts
 *
 *     [··32 blanks··␊
 *     {"id":1,"name":"Rex","categoryId":7}··32 blanks··␊    a commit
 *     ,{"id":2,"name":"Tom","categoryId":7}␊                the next one
 *     ,{"id":3,"name":"Kit","categoryId":1}··32 blanks··␊
 *     ]␊
 *
 * A commit is one write over the closing bracket, and one sync; the write ends with a new bracket.
 * So it costs the same with 10 pets as with a million, and the file is valid JSON after each one.
 *
 * A mark ends each commit: 32 spaces and tabs, the bits of a CRC-32 of everything before it, a tab
 * for 1. A crash in the middle of a commit leaves a torn write, which its mark does not prove. A
 * start drops it: these pets were never acknowledged.
 *
 * After a failure nothing is known about the file. The store never repairs it in place: it replaces
 * it by a new one from memory, which has each acknowledged pet, as rung 2 does with each commit.
 *
 * What it does not do: see a second process, whose start replaces the file, so that the commits of
 * this one go to a file without a name; see that another program changed the file; tell a damaged
 * last commit from a torn one; go on with a full disk, where it has no room for the new file; read
 * the file of rung 2, which has no marks. As in rung 2, a create that failed gets 500.
 */

import zlib from 'node:zlib';
import { writeAll, type Disk, type DiskFile } from '../core/store/disk.ts';
import { nodeDisk } from '../core/store/node-disk.ts';
import { ArrayStore, main, type Store, type StoredPet } from './1-plain.ts';
import { decodePets, groupCreates, readFile, replaceFile } from './2-json-file.ts';

/** Opens the store. Rejects if the file is damaged, or cannot be written anew. */
export async function openAppendStore(path: string, disk: Disk): Promise<Store> {
  const memory = new ArrayStore();
  const content = await readFile(path, disk);
  if (content !== undefined) {
    for (const pet of decodePets(`${provenPart(path, content)}]`)) memory.pets.push(pet);
  }
  const file = new AppendedFile(path, disk, memory);
  // Drops what is torn, and makes durable what a killed process has left in memory, as in rung 2.
  await file.replace();
  return groupCreates(memory, (added) => file.append(added));
}

class AppendedFile {
  readonly #path: string;
  readonly #disk: Disk;
  readonly #memory: ArrayStore;
  /** Undefined after a failure: the file has to be replaced before the next commit. */
  #file: DiskFile | undefined;
  #chain: Chain = START;

  constructor(path: string, disk: Disk, memory: ArrayStore) {
    this.#path = path;
    this.#disk = disk;
    this.#memory = memory;
  }

  /** Makes the pets durable, all or none of them. If this rejects, it is not known which. */
  async append(added: readonly StoredPet[]): Promise<void> {
    const file = this.#file ?? (await this.replace());
    const isFirst = this.#memory.pets.length === 0;
    const lines = added.map(({ text }) => text).join('\n,');
    const { bytes, next } = encodeCommit(isFirst ? lines : `,${lines}`, this.#chain);
    try {
      await writeAll(file, Buffer.concat([bytes, FILE_END]), this.#chain.end);
      await file.sync();
    } catch (error) {
      this.#file = undefined;
      await file.close().catch(() => undefined);
      throw error;
    }
    this.#chain = next;
  }

  /** Replaces the file by a new one with the pets in memory, each in a commit of its own. */
  async replace(): Promise<DiskFile> {
    const parts: Buffer[] = [];
    let next = START;
    const add = (text: string): void => {
      const commit = encodeCommit(text, next);
      parts.push(commit.bytes);
      next = commit.next;
    };
    add('[');
    for (const [index, { text }] of this.#memory.pets.entries()) {
      add(index === 0 ? text : `,${text}`);
    }
    await replaceFile(this.#path, this.#disk, Buffer.concat([...parts, FILE_END]));
    const file = await this.#disk.open(this.#path, 'edit');
    this.#file = file;
    this.#chain = next;
    return file;
  }
}

/** Where a file continues: behind its last mark, at the closing bracket. */
interface Chain {
  readonly end: number;
  /** The CRC-32 of all bytes before. */
  readonly crc: number;
}

const START: Chain = { end: 0, crc: 0 };
const FILE_END: Buffer = Buffer.from(']\n');

/** Returns the text with its mark, as bytes behind this chain, and the chain behind them. */
function encodeCommit(text: string, { end, crc }: Chain): { bytes: Buffer; next: Chain } {
  const proof = zlib.crc32(text, crc);
  const mark = markOf(proof);
  const bytes = Buffer.from(text + mark);
  return { bytes, next: { end: end + bytes.length, crc: zlib.crc32(mark, proof) } };
}

/** Returns the bits as blanks, the highest first, a tab for 1; and a line feed. */
function markOf(bits: number): string {
  const digits = bits.toString(2).padStart(32, '0');
  return `${digits.replaceAll('0', ' ').replaceAll('1', '\t')}\n`;
}

/** Returns the text up to the last mark that proves it. Throws if the rest is not a torn write. */
function provenPart(path: string, text: string): string {
  const marks = [...text.matchAll(/[ \t]{32}\n/g)];
  let provenMarks = 0;
  let end = 0;
  let crc = 0;
  for (const { 0: mark, index } of marks) {
    const proof = zlib.crc32(text.slice(end, index), crc);
    if (mark !== markOf(proof)) break;
    provenMarks += 1;
    end = index + mark.length;
    crc = zlib.crc32(mark, proof);
  }
  if (provenMarks === 0) throw new Error(`${path} does not begin as a file of this store`);
  // Each commit is synced before the next one, so only the last one can be torn.
  const hasMore = marks.length > provenMarks + 1;
  if (hasMore) throw new Error(`${path} is damaged behind its mark ${provenMarks}`);
  return text.slice(0, end);
}

await main(import.meta.url, () => openAppendStore('pets-with-marks.json', nodeDisk));
