import { RequestFailure } from '../../api/request.js';

const MAX_BYTES = 10 * 1024 * 1024;
/** All others are documents. */
const TYPES = ['image', 'video', 'audio'];

export interface Attachment {
  type: string;
  base64: string;
  filename: string;
}

/** A file as the API takes it. Throws `payload_too_large`, `file_unreadable`. */
export async function readAttachment(file: File): Promise<Attachment> {
  const url = await read(file, (reader) => reader.readAsDataURL(file));
  const kind = file.type.split('/')[0] ?? '';
  const type = TYPES.includes(kind) ? kind : 'document';
  return { type, base64: url.slice(url.indexOf(',') + 1), filename: file.name };
}

/** The text of a file. Throws `payload_too_large`, `file_unreadable`. */
export function readText(file: File): Promise<string> {
  return read(file, (reader) => reader.readAsText(file));
}

async function read({ size }: File, begin: (reader: FileReader) => void): Promise<string> {
  if (size > MAX_BYTES) throw new RequestFailure(413, 'payload_too_large', undefined, [], undefined);
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    // It may have been changed, moved or removed since it was chosen.
    reader.onerror = () => reject(new RequestFailure(0, 'file_unreadable', undefined, [], undefined));
    begin(reader);
  });
}
