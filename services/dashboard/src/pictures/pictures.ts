import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { LRUCache } from 'lru-cache';
import { fetchPicture, type Picture, policyOf } from './fetch-picture.js';

const MAX_KEPT_BYTES = 16 * 1024 * 1024;
/** What an entry takes beside its bytes. */
const ENTRY_BYTES = 500;
/** The URL of a picture changes with it. */
const KEPT_MS = 24 * 60 * 60_000;
const AGAIN_MS = 60_000;

/**
 * Pictures of accounts, fetched for the pages by the console, so that the network sees no browser and no browser meets a host of
 * its choice. One that is asked for by many is fetched once; one that could not be is asked for again in a minute.
 */
export class Pictures {
  readonly #kept: LRUCache<string, { picture: Picture | undefined }>;

  constructor({ simulatorUrl, logger }: { simulatorUrl: string | undefined; logger: Logger }) {
    this.#kept = new LRUCache({
      maxSize: MAX_KEPT_BYTES,
      sizeCalculation: ({ picture }) => ENTRY_BYTES + (picture?.bytes.length ?? 0),
      ttl: KEPT_MS,
      fetchMethod: async (url, _stale, { signal, options }) => {
        const policy = policyOf(url, simulatorUrl);
        const picture =
          policy &&
          (await fetchPicture(url, policy, signal).catch((thrown: unknown) => {
            logger.info('picture of an account not fetched', { error: toError(thrown) });
            return undefined;
          }));
        if (!picture) options.ttl = AGAIN_MS;
        return { picture };
      },
    });
  }

  /** `undefined` where there is none to show. */
  async read(url: string): Promise<Picture | undefined> {
    return (await this.#kept.fetch(url))?.picture;
  }
}
