import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { LIMITS } from '@gateway/contracts/limits';

const OWN_BYTES = 6;
/** A multiple of three bytes, so that its base64 can be gone on with. */
const SHARED = randomBytes(LIMITS.maxAttachmentBytes - OWN_BYTES - 1);
const SHARED_HASH = createHash('sha256').update(SHARED);
const SHARED_BASE64 = Buffer.from(SHARED.toString('base64'));

/** A file as large as one may be, unlike any other, that takes no memory of its own. */
export class LargeFile {
  readonly sizeBytes = SHARED.length + OWN_BYTES;
  readonly hash: string;
  readonly #own = randomBytes(OWN_BYTES);

  constructor() {
    this.hash = SHARED_HASH.copy().update(this.#own).digest('hex');
  }

  async post(url: string, token: string): Promise<{ status: number; retryAfter: string | undefined }> {
    const before = '{"to":"447700900001","attachment":{"type":"document","base64":"';
    const after = `${this.#own.toString('base64')}"}}`;
    const asked = request(url, {
      agent: false,
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': before.length + SHARED_BASE64.length + after.length,
      },
    });
    // It is answered before all of it was sent, and then closed.
    asked.on('error', () => {});
    asked.write(before);
    asked.write(SHARED_BASE64);
    asked.end(after);
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.on('error', () => {}).resume();
    return { status: response.statusCode!, retryAfter: response.headers['retry-after'] };
  }
}
