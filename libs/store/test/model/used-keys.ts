import type { DeviceAddress, MessageId } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import {
  findRepeat,
  forgetRepeat,
  keepAnswer,
  type RepeatClaim,
  releaseRepeat,
} from '@gateway/store/sends/accepting/idempotency';
import type { ModelEvent, Reply } from './events.js';
import type { KeyView, Snapshot } from './snapshot.js';

/** Whose keys they are. */
export const KEY_OWNER = 't';
const KEY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;

interface UsedKey {
  key: string;
  claims: RepeatClaim[];
  acceptedAtMs: number;
}

/** The idempotency keys of a sequence, in a real store. */
export class UsedKeys {
  private readonly keys = new Map<number, UsedKey>();

  /** @param sends those of the sequence, in their order; it grows. */
  constructor(
    private readonly store: Store,
    private readonly address: DeviceAddress,
    private readonly sends: readonly MessageId[],
  ) {}

  async act(event: Extract<ModelEvent, { do: `${string}Key` }>): Promise<Reply> {
    const { store } = this;
    const used = await this.find(event.key);
    switch (event.do) {
      case 'claimKey': {
        const found = await this.ask(event.key);
        if (found.kind === 'used') {
          return { send: this.sends.indexOf(found.first.messageId), answer: found.first.answer.n };
        }
        if (found.kind === 'free') used.claims.push(found.claim);
        return found.kind;
      }
      case 'releaseKey':
        return releaseRepeat(store, used.claims.at(-1 - event.claim)!);
      case 'lapseKey':
        if (used.claims[0]) await store.redis.del(used.claims[0].key);
        return undefined;
      case 'answerKey': {
        const place = { key: used.key, messageId: this.sends[event.send]! };
        return keepAnswer(store, { ...place, answer: { n: event.answer } });
      }
      case 'freeKey':
        return forgetRepeat(store, used.key, this.sends[event.send]!);
    }
  }

  private ask(key: number) {
    const { store, address } = this;
    return findRepeat(store, { owner: KEY_OWNER, callersKey: `k${key}`, address, isBound: true });
  }

  /** Where a caller's key lies: the store says so when it is first asked. */
  async find(key: number): Promise<UsedKey> {
    const known = this.keys.get(key);
    if (known) return known;
    const found = await this.ask(key);
    if (found.kind !== 'free') throw new Error('a key that was never used is not free');
    await releaseRepeat(this.store, found.claim);
    const used = { key: found.key, claims: [], acceptedAtMs: Number.POSITIVE_INFINITY };
    this.keys.set(key, used);
    return used;
  }

  /** Where those lie whose time is over. */
  endedBy(nowMs: number): string[] {
    const ended = [...this.keys.values()].filter(({ acceptedAtMs }) => acceptedAtMs + KEY_MS <= nowMs);
    return ended.map(({ key }) => key);
  }

  async look(): Promise<Snapshot['keys']> {
    const views = await Promise.all([...this.keys].map(async ([key, used]) => [key, await this.lookAt(used)] as const));
    return Object.fromEntries(views.filter(([, { isClaimed, use }]) => isClaimed || use));
  }

  private async lookAt({ key, claims }: UsedKey): Promise<KeyView> {
    const { redis } = this.store;
    const [messageId, ttlMs, claimed] = await Promise.all([
      redis.hget(key, 'messageId'),
      redis.pttl(key),
      claims[0] ? redis.exists(claims[0].key) : 0,
    ]);
    const send = messageId === null ? -1 : this.sends.indexOf(messageId);
    return {
      isClaimed: claimed === 1,
      use: send < 0 ? undefined : { send, ttlHours: Math.ceil(ttlMs / HOUR_MS) },
    };
  }
}
