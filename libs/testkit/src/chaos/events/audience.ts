import { DEFAULT_TYPES } from '@gateway/contracts/events/events';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { WEBHOOK_LIMITS, type WebhookId } from '@gateway/contracts/webhooks/webhook';
import { sleep, systemClock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { readRecipients, readSend } from '@gateway/store/sends/read-send';
import { listParked } from '@gateway/store/webhooks/delivering/parked/parked';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { callUntilAnswered } from '../client.js';
import { Random } from '../random.js';
import type { Line, PromisedSend } from '../take-account.js';
import {
  accountForEvents,
  changesTold,
  countAltered,
  type DeviceStanding,
  type EventsAccount,
  recipientKey,
  type ToBeTold,
  type Written,
} from './account-for-events.js';
import { Consumer, TYPES_ALONE } from './consumer.js';
import { Receiver, type ReceiverKind } from './receiver.js';
import { recordedChanges } from './recorded-changes.js';

export interface AudienceResult extends EventsAccount {
  /** Statuses that recipients came to, as far as they are known, and messages of people. */
  changes: number;
  written: number;
  /** To webhooks, and those under an id that had come before; of these, those with other bytes, and what others were told in other words. */
  requests: number;
  repeats: number;
  altered: number;
  /** Events that were put aside for webhooks when all was left alone. */
  putAside: number;
  /** Deaths of those who read over the API. */
  consumerKills: number;
}

/** Nothing is lost, invented, out of order, told twice, or repeated in other words. */
export function isToldRight({ lost, invented, disordered, duplicates, altered }: AudienceResult): boolean {
  return lost + invented + disordered + duplicates + altered === 0;
}

interface Endpoint {
  receiver: Receiver;
  id: WebhookId;
}

interface Member {
  name: string;
  told(): EventsAccount;
}

const LOOK_MS = 1_000;
const QUIET_LOOKS = 2;
const MOST_FINDINGS = 20;
/** Longer than an endpoint waits that has failed three times. */
const NO_NEWS_MS = 120_000;

/** Order of each recipient holds in several requests at a time as well. */
const APART = { types: TYPES_ALONE, concurrency: 10 };

/** All who want the events of a run: endpoints of every kind, and two who read over the API. */
export class Audience {
  /** What people wrote. */
  readonly written: Written[] = [];
  /** Whom callers opted out. */
  readonly optedOut: string[] = [];
  /** By endpoint: what is replayed there. */
  readonly #replayed = new Map<WebhookId, Set<string>>();
  /** While the account is taken: what they were not told yet, all together. */
  missing = Number.POSITIVE_INFINITY;

  private constructor(
    private readonly endpoints: readonly Endpoint[],
    private readonly consumers: readonly Consumer[],
  ) {}

  /** Before a device is linked: how it stands is told from then on. */
  static async gather(
    store: Store,
    { bases, seed, kinds }: { bases: readonly string[]; seed: number; kinds: readonly ReceiverKind[] },
  ): Promise<Audience> {
    const scopes = ['events', 'webhooks'] as const;
    const makeToken = () => createApiToken(store, 'main', { name: 'audience', scopes: [...scopes] });
    const { value: token } = await makeToken();
    const endpoints: Endpoint[] = [];
    for (const [i, kind] of kinds.entries()) {
      const receiver = await Receiver.start(kind, new Random(seed + i));
      const body = { url: receiver.url, gatherSeconds: 1, ...(kind === 'apart' && APART) };
      const made = await callUntilAnswered(bases, '/webhooks', { token, body });
      const webhookId = String(made.body.webhookId);
      endpoints.push({ receiver, id: webhookId });
      const tested = await callUntilAnswered(bases, `/webhooks/${webhookId}/test`, { token, body: {} });
      if (tested.body.webhookStatus !== 'active') throw new Error(`webhook: ${JSON.stringify([made, tested])}`);
    }
    const begin = await callUntilAnswered(bases, '/events', { method: 'GET', token });
    if (begin.status !== 200) throw new Error(`events: ${JSON.stringify(begin)}`);
    const cursor = String(begin.body.nextCursor);
    // Each has calls of its own.
    const tokens = { pull: token, stream: (await makeToken()).value };
    const deps = { bases, cursor };
    const consumers = (['pull', 'stream'] as const).map(
      (kind, i) => new Consumer(kind, { ...deps, token: tokens[kind], random: new Random(seed + 100 + i) }),
    );
    return new Audience(endpoints, consumers);
  }

  /**
   * All is left alone, and what is on its way arrives; then each is asked what it was told.
   * @param options.written all that Redis ever wrote. Without it, what one was told on the way has to be told to all.
   */
  async takeAccount(
    store: Store,
    sends: readonly PromisedSend[],
    { written, say }: { written: Iterable<readonly Buffer[]> | undefined; say(line: string): void },
  ): Promise<AudienceResult> {
    for (const each of [...this.receivers, ...this.consumers]) each.heal();
    const putAside = await this.#replayParked(store);
    let sinceMs = performance.now();
    for (let quiet = 0; ; quiet++) {
      const known = await readToBeTold(store, sends, this.written, this.optedOut);
      const toBeTold = { ...known, changes: changesTold(this.#living().map(({ events }) => events)) };
      const members = this.#members(toBeTold, () => {});
      const lost = sum(members.map(({ told }) => told())).lost;
      if (lost < this.missing) [this.missing, sinceMs] = [lost, performance.now()];
      if (lost > 0) quiet = 0;
      // What comes once more comes later.
      if (quiet === QUIET_LOOKS || performance.now() - sinceMs > NO_NEWS_MS) {
        const ids = sends.map(({ messageId }) => messageId);
        const changes = written ? recordedChanges(written, ids) : toBeTold.changes;
        return this.#result({ ...known, changes }, { putAside, say });
      }
      await sleep(LOOK_MS);
      await this.#replayParked(store);
    }
  }

  /** Behind its endpoints. */
  get receivers(): readonly Receiver[] {
    return this.endpoints.map(({ receiver }) => receiver);
  }

  async close(): Promise<void> {
    await Promise.all([...this.receivers, ...this.consumers].map((each) => each.close()));
  }

  /** As an operator would: each has a clock of its own otherwise. Answers how many there were. */
  async #replayParked(store: Store): Promise<number> {
    let count = 0;
    for (const { id } of this.endpoints) {
      const place = { workspace: 'main', id };
      const parked = await listParked(store, place, { limit: WEBHOOK_LIMITS.maxParked });
      const ids = parked.flatMap(({ events }) => events.map((event) => event.id));
      const replayed = this.#replayed.get(id) ?? new Set();
      this.#replayed.set(id, replayed);
      for (const each of ids) replayed.add(each);
      if (ids.length > 0) await replayWebhook(store, place, { ids }, systemClock.nowMs());
      count += ids.length;
    }
    return count;
  }

  #result(toBeTold: ToBeTold, { putAside, say }: { putAside: number; say: (line: string) => void }): AudienceResult {
    const members = this.#members(toBeTold, say);
    const accounts = members.map(({ name, told }) => {
      const account = told();
      say(`${name} was told: ${JSON.stringify(account)}`);
      return account;
    });
    const total = sum(accounts);
    const told = [...this.receivers, ...this.consumers].map(({ events }) => events);
    const sayAltered = sayFirst(say);
    const count = (of: 'requests' | 'repeats' | 'altered') => this.receivers.reduce((all, each) => all + each[of], 0);
    return {
      ...total,
      lost: total.lost + this.consumers.reduce((all, { gone }) => all + gone, 0),
      ...{
        changes: toBeTold.changes?.size ?? 0,
        written: this.written.length,
        requests: count('requests'),
        repeats: count('repeats'),
      },
      altered: count('altered') + countAltered(told, (what) => sayAltered('altered', what)),
      putAside,
      consumerKills: this.consumers.reduce((all, { kills }) => all + kills, 0),
    };
  }

  /** A dead endpoint is told nothing: it is only to be in no one's way. */
  #living() {
    const endpoints = this.endpoints.map(({ receiver: { kind, events }, id }) => ({ kind, events, id }));
    const consumers = this.consumers.map(({ kind, events }) => ({ kind, events, id: undefined }));
    return [...endpoints.filter(({ kind }) => kind !== 'dead'), ...consumers];
  }

  #members(toBeTold: ToBeTold, say: (line: string) => void): Member[] {
    const inOrder = this.consumers.find(({ kind }) => kind === 'pull')?.events ?? [];
    return this.#living().map(({ kind, events, id }) => {
      const types = kind === 'apart' || kind === 'stream' ? TYPES_ALONE : DEFAULT_TYPES;
      // What is not put aside any more when it is replayed is told once more.
      const replayed = (id === undefined ? undefined : this.#replayed.get(id)) ?? new Set<string>();
      const wanted = { ...toBeTold, types, replayed, inOrder };
      const told = () =>
        accountForEvents(
          wanted,
          events,
          sayFirst((finding) => say(`${kind}: ${finding}`)),
        );
      return { name: kind, told };
    });
  }
}

/** Of each kind of finding: of thousands, all that is known of them is in the logs of the processes. */
function sayFirst(say: (line: string) => void): (finding: string, what: unknown) => void {
  const counts = new Map<string, number>();
  return (finding, what) => {
    const count = (counts.get(finding) ?? 0) + 1;
    counts.set(finding, count);
    if (count <= MOST_FINDINGS) say(`${finding} ${JSON.stringify(what)}`);
  };
}

/** As Redis has it now. */
export async function readToBeTold(
  store: Store,
  sends: readonly { line: Pick<Line, 'address'>; messageId: string; to: readonly string[] }[],
  written: readonly Written[],
  optedOutByCallers: readonly string[] = [],
): Promise<ToBeTold> {
  const recipients = new Map<string, { to: string; status: string; error: string | null }>();
  const finished = new Set<string>();
  for (const { line, messageId, to } of sends) {
    const send = await readSend(store, line.address, messageId);
    if (!send) continue;
    if (send.counts.queued === 0 && send.kind !== 'otp') finished.add(messageId);
    const rows = await readRecipients(store, line.address, send.tag, { from: 0, limit: to.length });
    for (const { index, to: number, status, errorCode } of rows) {
      const error = recipientErrorName(errorCode) ?? null;
      recipients.set(recipientKey(messageId, index), { to: number, status, error });
    }
  }
  const devices = new Map<string, DeviceStanding>();
  for (const { address } of sends.map(({ line }) => line)) {
    if (devices.has(address.device)) continue;
    const { observed, restriction } = await readDeviceState(store, address);
    devices.set(address.device, { status: observed?.status ?? 'disconnected', restriction });
  }
  const optedOut = new Set<string>();
  for (const phone of new Set([...written.map(({ from }) => from), ...optedOutByCallers]))
    if (await findOptOut(store, 'main', phone)) optedOut.add(phone);
  return { recipients, finished, written, optedOut, optedOutByCallers, devices };
}

function sum(accounts: readonly EventsAccount[]): EventsAccount {
  const total: EventsAccount = { told: 0, lost: 0, invented: 0, disordered: 0, duplicates: 0 };
  for (const account of accounts) {
    for (const key of Object.keys(total) as (keyof EventsAccount)[]) total[key] += account[key];
  }
  return total;
}
