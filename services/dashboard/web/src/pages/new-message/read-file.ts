import { RequestFailure } from '../../api/request.js';

const MAX_BYTES = 10 * 1024 * 1024;
/** All others are documents. */
const TYPES = ['image', 'video', 'audio'];

export interface Attachment {
  type: string;
  base64: string;
  filename: string;
}

/** A file as the API takes it. Throws `payload_too_large`. */
export async function readAttachment(file: File): Promise<Attachment> {
  if (file.size > MAX_BYTES) throw new RequestFailure(413, 'payload_too_large', undefined, [], undefined);
  const url = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
  const kind = file.type.split('/')[0] ?? '';
  const type = TYPES.includes(kind) ? kind : 'document';
  return { type, base64: url.slice(url.indexOf(',') + 1), filename: file.name };
}
