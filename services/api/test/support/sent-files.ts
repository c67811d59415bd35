import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { InboundContent } from '@gateway/contracts/content/inbound-content';
import { makeMediaId } from '@gateway/contracts/content/media-id';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { makeTlsIdentity } from '@gateway/simulator/http/self-signed';
import { MediaStore } from '@gateway/simulator/media/media-store';
import { sealMedia } from '@gateway/simulator/media/seal-media';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { recordReceived } from '@gateway/store/inbound/received-messages';

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

/** A file server of the network, and people who send files that lie there. */
export class SentFiles {
  readonly store = new MediaStore();
  /** What the server answers in place of a file. */
  answer: { status?: number; bytes?: Buffer; headers?: Record<string, string> } | undefined;
  /** Requests so far. */
  asked = 0;
  #server: Server | undefined;

  async start(): Promise<void> {
    const { key, cert } = await makeTlsIdentity('127.0.0.1');
    this.#server = createServer({ key, cert }, (request, response) => {
      this.asked += 1;
      const bytes = this.answer?.bytes ?? this.store.find(request.url!);
      response.writeHead(this.answer?.status ?? (bytes ? 200 : 404), this.answer?.headers);
      response.end(bytes);
    });
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
  }

  get host(): string {
    return `127.0.0.1:${(this.#server!.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server?.closeAllConnections();
    this.#server?.close();
  }

  /** A person has sent this file to the device; the id under which it can be fetched. */
  async receive(store: Store, ownership: Ownership, file: Buffer, more: object = {}): Promise<string> {
    const { mediaKey, directPath, fileSha256, fileEncSha256 } = sealMedia(this.store, file, 'Document');
    const media = {
      ...{ directPath, mediaKey: base64(mediaKey), sha256: base64(fileSha256), sealedSha256: base64(fileEncSha256) },
      host: this.host,
      ...{ mimeType: 'application/pdf', bytes: file.length, filename: "Ann's bill.pdf", ...more },
    };
    const content: InboundContent = { type: 'document', media };
    const message = {
      platformId: '3AB0',
      jid: '447700900124@s.whatsapp.net',
      phone: '447700900124',
      text: '',
      content,
    };
    // Of two messages under one id the first counts.
    await store.redis.hdel(deviceKeys(store.space, ownership.address).received, message.platformId);
    await recordReceived(store, ownership, { message, nowMs: Date.now() });
    return makeMediaId(ownership.address, '3AB0');
  }
}
