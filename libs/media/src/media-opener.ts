import { createDecipheriv, createHash, createHmac, type Hash, type Hmac, hkdfSync } from 'node:crypto';
import { Transform, type TransformCallback } from 'node:stream';
import type { InboundMedia, InboundMediaType } from '@gateway/contracts/content/inbound-content';

/** With these words the network's clients derive the keys of files. */
const KEY_WORDS: Record<InboundMediaType, string> = {
  image: 'Image',
  sticker: 'Image',
  video: 'Video',
  audio: 'Audio',
  document: 'Document',
};
const MAC_BYTES = 10;
const NOTHING = Buffer.alloc(0);

/** A file is not the one that its message speaks of. */
export class WrongMediaError extends Error {
  override readonly name = 'WrongMediaError';
}

/**
 * Decrypts a file as it comes, and checks all of it: the code at its end, and the hashes that its message gives. What was
 * decrypted last is passed on only when all is right, so that a wrong file ends before its end.
 */
export class MediaOpener extends Transform {
  readonly #media: Pick<InboundMedia, 'sha256' | 'sealedSha256'>;
  readonly #decipher: ReturnType<typeof createDecipheriv>;
  readonly #mac: Hmac;
  readonly #sealedHash: Hash = createHash('sha256');
  readonly #hash: Hash = createHash('sha256');
  /** May be the code at the end. */
  #tail: Buffer = NOTHING;
  #held: Buffer = NOTHING;

  constructor(type: InboundMediaType, media: Pick<InboundMedia, 'mediaKey' | 'sha256' | 'sealedSha256'>) {
    super();
    this.#media = media;
    const info = `WhatsApp ${KEY_WORDS[type]} Keys`;
    const keys = Buffer.from(hkdfSync('sha256', Buffer.from(media.mediaKey, 'base64'), NOTHING, info, 112));
    const iv = keys.subarray(0, 16);
    this.#decipher = createDecipheriv('aes-256-cbc', keys.subarray(16, 48), iv);
    this.#mac = createHmac('sha256', keys.subarray(48, 80)).update(iv);
  }

  override _transform(piece: Buffer, _: BufferEncoding, done: TransformCallback): void {
    this.#sealedHash.update(piece);
    const all = this.#tail.length > 0 ? Buffer.concat([this.#tail, piece]) : piece;
    const end = Math.max(0, all.length - MAC_BYTES);
    this.#tail = all.subarray(end);
    this.#mac.update(all.subarray(0, end));
    this.#passOn(this.#decipher.update(all.subarray(0, end)));
    done();
  }

  override _flush(done: TransformCallback): void {
    if (this.#isRight()) done(null, this.#held);
    else done(new WrongMediaError('it has another hash'));
  }

  #isRight(): boolean {
    const { sha256, sealedSha256 } = this.#media;
    try {
      this.#passOn(this.#decipher.final());
    } catch {
      return false;
    }
    const isIntact = this.#mac.digest().subarray(0, MAC_BYTES).equals(this.#tail);
    return isIntact && this.#sealedHash.digest('base64') === sealedSha256 && this.#hash.digest('base64') === sha256;
  }

  #passOn(plain: Buffer): void {
    if (plain.length === 0) return;
    this.#hash.update(plain);
    if (this.#held.length > 0) this.push(this.#held);
    this.#held = plain;
  }
}
