import type { Agent } from 'node:https';
import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { type OwnNotice, takeOwnNotices } from '../inbound/own-notices.js';
import { within } from '../session/within.js';
import { type BaileysSocket, proto } from '../socket/baileys.js';
import { fetchHistoryFile } from './fetch-history-file.js';
import type { HistoryCreds, WaitingHistory } from './own-creds.js';
import { type HistoryFacts, readHistory } from './read-history.js';
import { type StoreHistoryDeps, storeHistory } from './store-history.js';

export interface HistoryDeps extends StoreHistoryDeps {
  sock: BaileysSocket;
  logger: Logger;
  /** For downloads from a stand-in. */
  agent?: Agent | undefined;
  /** Aborted when the session ends. */
  signal: AbortSignal;
}

type Notice = proto.Message.IHistorySyncNotification;

const { INITIAL_BOOTSTRAP, NON_BLOCKING_DATA } = proto.HistorySync.HistorySyncType;
const WANTED: ReadonlySet<unknown> = new Set([INITIAL_BOOTSTRAP, NON_BLOCKING_DATA]);
const MAX_INFLATED_BYTES = 64 * 1024 * 1024;
const MAX_WAITING = 8;
const FETCH_TIMEOUT_MS = 60_000;
const MAX_ATTEMPTS = 20;
/** After the first attempt; then with pauses that double. */
const RETRY_MS = 30_000;
const RETRY_LONGEST_MS = 60 * 60_000;

/**
 * Takes salt, tokens, hidden identifiers and the time of migration out of the histories that the phone sends after the
 * linking, before the library sees them; it would inflate, download and decode all of them without a bound. What people
 * wrote is stepped over. The library gets notices with neither content nor place, from whichever device of the account;
 * it confirms them.
 *
 * A phone sends its history once. What it says, or where its file is, is stored before the message is confirmed; a file
 * is fetched in the background, and again after the next login when that failed.
 */
export class HistoryKeeper {
  readonly #deps: HistoryDeps;
  #fetching: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #onFirst: () => void = () => {};
  readonly #first = new Promise<void>((resolve) => {
    this.#onFirst = resolve;
  });

  constructor(deps: HistoryDeps) {
    this.#deps = deps;
    takeOwnNotices(
      deps.sock,
      () => this.#creds.me,
      (notice) => this.#take(notice),
    );
    if (this.#creds.hasHistory) this.#onFirst();
    deps.signal.addEventListener('abort', () => clearTimeout(this.#timer), { once: true });
  }

  /** Resolves when the first history of the account was taken, at once when that was in an earlier session. */
  get first(): Promise<void> {
    return this.#first;
  }

  /** Fetches the files that wait. To be called when the connection is open. */
  fetchWaiting(): void {
    clearTimeout(this.#timer);
    this.#fetching = this.#fetching.then(() => this.#fetchAll()).catch(() => {});
  }

  get #creds(): HistoryCreds {
    return this.#deps.auth.creds;
  }

  /** The notice keeps its kind, and nothing that could be read or fetched. Facts are taken from the own phone only. */
  async #take({ protocol, isFromPhone }: OwnNotice): Promise<boolean> {
    const notice = protocol.historySyncNotification;
    if (!notice) return false;
    const { syncType, chunkOrder, progress } = notice;
    if (isFromPhone && WANTED.has(syncType)) await this.#keep(notice);
    protocol.historySyncNotification = {
      syncType: syncType ?? null,
      chunkOrder: chunkOrder ?? null,
      progress: progress ?? null,
    };
    return true;
  }

  async #keep(notice: Notice): Promise<void> {
    const inline = notice.initialHistBootstrapInlinePayload;
    if (inline?.length) await this.#storeQuietly(inline, isFirst(notice));
    else await this.#keepForLater(notice);
  }

  /** A history that cannot be read is lost, but the message is confirmed anyway: otherwise the phone would send nothing else. */
  async #storeQuietly(deflated: Uint8Array, isFirstHistory: boolean): Promise<void> {
    const facts = await this.#read(deflated);
    if (facts) await storeHistory(this.#deps, facts);
    if (isFirstHistory) await this.#noteFirst();
  }

  async #read(deflated: Uint8Array): Promise<HistoryFacts | undefined> {
    try {
      return await oneAtATime(async () => readHistory(await inflateBounded(deflated)));
    } catch (error) {
      this.#deps.logger.warn('a phone history cannot be read', { error: toError(error) });
      return undefined;
    }
  }

  async #noteFirst(): Promise<void> {
    if (!this.#creds.hasHistory) {
      this.#creds.hasHistory = true;
      await this.#deps.auth.saveCreds();
    }
    this.#onFirst();
  }

  async #keepForLater(notice: Notice): Promise<void> {
    const { directPath, mediaKey, fileEncSha256 } = notice;
    if (!directPath || !mediaKey || !fileEncSha256) return;
    const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
    const secrets = { mediaKey: base64(mediaKey), fileEncSha256: base64(fileEncSha256) };
    const file = { directPath, ...secrets, isFirst: isFirst(notice), attempts: 0 };
    this.#creds.waitingHistories = [...(this.#creds.waitingHistories ?? []), file].slice(-MAX_WAITING);
    await this.#deps.auth.saveCreds();
    this.fetchWaiting();
  }

  async #fetchAll(): Promise<void> {
    for (const file of this.#creds.waitingHistories ?? []) {
      if (this.#deps.signal.aborted) return;
      const isDone = await this.#fetch(file);
      file.attempts += 1;
      if (isDone || file.attempts >= MAX_ATTEMPTS) await this.#forget(file);
    }
    const attempts = (this.#creds.waitingHistories ?? []).map((file) => file.attempts);
    if (attempts.length === 0 || this.#deps.signal.aborted) return;
    await this.#deps.auth.saveCreds();
    const pauseMs = Math.min(RETRY_MS * 2 ** (Math.min(...attempts) - 1), RETRY_LONGEST_MS);
    this.#timer = setTimeout(() => this.fetchWaiting(), pauseMs);
    this.#timer.unref();
  }

  async #fetch(file: WaitingHistory): Promise<boolean> {
    const { sock, agent, signal, logger } = this.#deps;
    const ended = AbortSignal.any([signal, AbortSignal.timeout(FETCH_TIMEOUT_MS)]);
    const limit = { timeoutMs: FETCH_TIMEOUT_MS, what: 'history', signal };
    const work = async () => {
      const { hosts } = await sock.refreshMediaConn();
      const names = hosts.map(({ hostname }) => hostname);
      return fetchHistoryFile(file, { hosts: names, agent, signal: ended });
    };
    let deflated: Buffer;
    try {
      deflated = await within(limit, work());
    } catch (error) {
      logger.warn('a phone history was not fetched', { error: toError(error) });
      return false;
    }
    await this.#storeQuietly(deflated, file.isFirst);
    return true;
  }

  async #forget(file: WaitingHistory): Promise<void> {
    this.#creds.waitingHistories = this.#creds.waitingHistories?.filter((each) => each !== file) ?? [];
    await this.#deps.auth.saveCreds();
  }
}

function isFirst({ syncType }: Notice): boolean {
  return syncType === INITIAL_BOOTSTRAP;
}

const inflateAsync = promisify(inflate);

function inflateBounded(deflated: Uint8Array): Promise<Buffer> {
  return inflateAsync(deflated, { maxOutputLength: MAX_INFLATED_BYTES });
}

let last: Promise<unknown> = Promise.resolve();

/** Of all devices of the process: each may need the whole of `MAX_INFLATED_BYTES` for a moment. */
function oneAtATime<Result>(work: () => Promise<Result>): Promise<Result> {
  const result = last.then(work);
  last = result.catch(() => {});
  return result;
}
