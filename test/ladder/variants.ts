/**
 * The broken variants of the rungs: each leaves out one thing, and loses a pet by that.
 *
 * A variant is a patch of its rung's own text, so that the code that is learned from stays without
 * switches, and `npm run ladder -- show NAME` can print which line makes the difference.
 */

export type RungName = '1-plain' | '2-json-file' | '3-append' | 'core';

/** What a disk, or another process, does to a store. Each is a column of the table. */
export type Column = 'kill' | 'power failure' | 'full disk' | 'failed sync' | 'second process';

export const COLUMNS: readonly Column[] = [
  ...(['kill', 'power failure', 'full disk', 'failed sync', 'second process'] as const),
];

export interface Row {
  readonly name: string;
  readonly rung: RungName;
  /** What it is, or what it leaves out. */
  readonly what: string;
  /** The text of the rung and what replaces it. Empty for the rung itself. */
  readonly patches: readonly (readonly [from: string, to: string])[];
  /** The columns in which it loses a pet. */
  readonly loses: readonly Column[];
  /** The line that prevents the row's first loss: of the core, or of rung 2; none for the core. */
  readonly answer?: Line;
  /** Libraries that write in this way, as read in their sources. */
  readonly peers?: readonly string[];
}

/** A line of a source, which contains the text. */
export interface Line {
  readonly file: string;
  readonly text: string;
}

const SYNC = 'await file.sync();';
const IN_DOUBT: Line = { file: 'data-file.ts', text: "return { kind: 'in doubt', cause };" };
const LOCK: Line = { file: 'start.ts', text: "lock('exclusive')" };

export const ROWS: readonly Row[] = [
  {
    name: '1-plain',
    rung: '1-plain',
    what: 'Keeps the pets in an array',
    patches: [],
    loses: ['kill', 'power failure', 'second process'],
    answer: { file: '2-json-file.ts', text: 'await append(added);' },
  },
  {
    name: '2-json-file',
    rung: '2-json-file',
    what: 'Replaces one JSON file atomically',
    patches: [],
    loses: ['second process'],
    answer: LOCK,
  },
  {
    name: 'in-place',
    rung: '2-json-file',
    what: 'Removes the file, and writes it anew under its own name',
    patches: [
      ['const unfinished = `${path}.unfinished`;', 'const unfinished = path;'],
      ['await disk.rename(unfinished, path);', ''],
    ],
    loses: ['kill', 'power failure', 'full disk', 'failed sync', 'second process'],
    answer: { file: 'replace-file.ts', text: 'await giveName(disk, replacement);' },
    peers: ['jsonfile 6.2.1, index.js:68 and 78'],
  },
  {
    name: 'short-writes',
    rung: '2-json-file',
    what: 'Does not look how many bytes a write has written',
    patches: [['await writeAll(file, content, 0);', 'await file.write(content, 0);']],
    loses: ['full disk', 'second process'],
    answer: { file: 'replace-file.ts', text: 'await writeAll(file, bytes, position);' },
    peers: [
      'write-file-atomic 7.0.1 and 8.0.0, lib/index.js:116 and 118',
      'atomically 2.1.1, dist/index.js:77 and 86 (conf 16.0.0 and configstore 8.0.0 write with it)',
    ],
  },
  {
    name: 'no-sync',
    rung: '2-json-file',
    what: 'Renames the file without a sync of it',
    patches: [[SYNC, '']],
    loses: ['power failure', 'second process'],
    answer: { file: 'replace-file.ts', text: 'await file.sync();' },
    peers: [
      'steno 4.0.2, lib/index.js:53 to 55 (lowdb 7.0.1 and json-server 1.0.0-beta.15 write with it)',
      'steno 0.4.4, index.js:33 to 43 (lowdb 1.0.0 and json-server 0.17.4 write with it)',
      'node-json-db 3.0.0, dist/lib/JsonDBConfig.js:12, unless syncOnSave is set',
    ],
  },
  {
    name: 'no-folder-sync',
    rung: '2-json-file',
    what: 'Does not sync the folder after the rename',
    patches: [['await disk.syncDirectory(dirname(path));', '']],
    loses: ['power failure', 'second process'],
    answer: { file: 'replace-file.ts', text: 'await disk.syncDirectory(dirname(path));' },
    peers: [
      'write-file-atomic 7.0.1 and 8.0.0, lib/index.js:144',
      'atomically 2.1.1, dist/index.js:105',
    ],
  },
  {
    name: 'syncs-again',
    rung: '2-json-file',
    what: 'Syncs again after a failed sync, and believes the second one',
    patches: [[SYNC, 'await file.sync().catch(() => file.sync());']],
    loses: ['failed sync', 'second process'],
    answer: IN_DOUBT,
  },
  {
    name: '3-append',
    rung: '3-append',
    what: 'Writes each commit to the end of one JSON file',
    patches: [],
    loses: ['second process'],
    answer: LOCK,
  },
  {
    name: 'early-answer',
    rung: '3-append',
    what: 'Acknowledges a create first, and syncs within a second',
    patches: [[SYNC, 'setTimeout(() => file.sync().catch(() => undefined), 1000).unref();']],
    loses: ['power failure', 'second process'],
    answer: { file: 'data-file.ts', text: 'await this.#file.sync();' },
    peers: ['nedb 1.8.0, lib/persistence.js:200, with no sync of an insert at all'],
  },
  {
    name: 'unproven',
    rung: '3-append',
    what: 'Compares no mark: a commit counts as whole if it ends like one',
    patches: [['mark !== markOf(proof)', 'false']],
    loses: ['power failure', 'second process'],
    answer: {
      file: 'read-data-file.ts',
      text: 'const isProven = zlib.crc32(window.subarray(start, end - MARK_LINE_BYTES), crc) === said;',
    },
  },
  {
    name: 'short-commits',
    rung: '3-append',
    what: 'Does not look how many bytes of a commit were written',
    patches: [
      [
        'await writeAll(file, Buffer.concat([bytes, FILE_END]), this.#chain.end);',
        'await file.write(Buffer.concat([bytes, FILE_END]), this.#chain.end);',
      ],
    ],
    loses: ['full disk', 'second process'],
    answer: { file: 'data-file.ts', text: 'if (count < bytes.length) {' },
  },
  {
    name: 'syncs-commits-again',
    rung: '3-append',
    what: 'Syncs a commit again after a failed sync, and believes the second one',
    patches: [[SYNC, 'await file.sync().catch(() => file.sync());']],
    loses: ['failed sync', 'second process'],
    answer: IN_DOUBT,
  },
  { name: 'core', rung: 'core', what: 'The store of the service', patches: [], loses: [] },
  {
    name: 'no-lock',
    rung: 'core',
    what:
      'Does not look for a second process. It changes no line of the core: its disk grants each ' +
      "lock, and DataFile.check always answers 'ours' (test/ladder/stores.ts)",
    patches: [],
    loses: ['second process'],
    answer: LOCK,
  },
];
