import { normalizeMessageContent, type proto } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import type { MediaStore } from '../media/media-store.js';
import { type FoundMedia, findMedia, openMedia } from '../media/open-media.js';
import type { InboxRow } from '../phones/inbox.js';

interface FileCheck {
  readonly intact: boolean;
  readonly problem?: string;
}

/** Uploads whose check is remembered: a file that went to thousands is opened once. */
const REMEMBERED_CHECKS = 1_000;

/** The files that messages point to, downloaded and checked as phones do. */
export class PhoneFiles {
  readonly #store: MediaStore;
  readonly #files = new WeakMap<InboxRow, FoundMedia>();
  readonly #checks = new LRUCache<string, FileCheck>({ max: REMEMBERED_CHECKS });

  constructor(store: MediaStore) {
    this.#store = store;
  }

  /** Notes on the row whether the file of a message opens; on a real phone it would show as broken. */
  note(row: InboxRow, message: proto.IMessage): void {
    const found = findMedia(normalizeMessageContent(message) ?? message);
    if (!found) return;
    this.#files.set(row, found);
    row.details = { ...row.details, ...this.#check(found) };
  }

  /** The decrypted file of a message that a phone shows, if it is intact. */
  open(row: InboxRow): { bytes: Buffer; mimeType: string } | undefined {
    const found = this.#files.get(row);
    if (!found || row.details?.intact !== true) return undefined;
    return { bytes: openMedia(this.#store, found), mimeType: found.pointer.mimetype ?? 'application/octet-stream' };
  }

  /** Where the file of a message is said to be, and with which keys. */
  pointerOf(row: InboxRow): FoundMedia | undefined {
    return this.#files.get(row);
  }

  /** Where a file is now, uploaded again if need be; `undefined` when the phone does not have it any more. */
  renew({ pointer }: FoundMedia): string | undefined {
    return this.#store.renew(pointer.directPath ?? '');
  }

  #check(found: FoundMedia): FileCheck {
    const { directPath, mediaKey, fileSha256 } = found.pointer;
    const keys = Buffer.concat([Buffer.from(mediaKey ?? []), Buffer.from(fileSha256 ?? [])]);
    const name = `${directPath}/${keys.toString('base64')}`;
    const known = this.#checks.get(name);
    if (known) return known;
    const check = checkFile(this.#store, found);
    this.#checks.set(name, check);
    return check;
  }
}

function checkFile(store: MediaStore, found: FoundMedia): FileCheck {
  try {
    openMedia(store, found);
    return { intact: true };
  } catch (error) {
    return { intact: false, problem: (error as Error).message };
  }
}
