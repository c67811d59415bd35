import { parseBuffer } from 'music-metadata';

export interface Sound {
  bytes: Uint8Array;
  mimeType: string;
}

/**
 * How long a sound or a film takes; `undefined` when that is not known. Counts every frame of files that do not say it,
 * in one go: run it in a thread of its own.
 * @public the pool of describe-file.ts loads it by its path.
 */
export default async function readSeconds({ bytes, mimeType }: Sound): Promise<number | undefined> {
  const { format } = await parseBuffer(bytes, { mimeType, size: bytes.length }, { duration: true, skipCovers: true });
  return format.duration;
}
