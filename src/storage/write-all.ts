import type { DiskFile } from './disk.ts';

/** Writes all of the bytes, however few the disk takes at a time. */
export async function writeAll(file: DiskFile, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await file.write(bytes, at, position + at);
}
