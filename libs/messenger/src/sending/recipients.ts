import { setImmediate } from 'node:timers/promises';
import { canonicalPhoneNumber, spellingsOf } from '@gateway/contracts/people/phone-number';
import { LRUCache } from 'lru-cache';
import { inNamespace } from '../addressing/other-name.js';
import type { LookUp } from '../lookup/look-up.js';
import type { SessionCaches } from '../lookup/session-caches.js';
import { storedLidOf } from '../lookup/stored-lid.js';
import { areJidsSameUser, type BaileysSocket, jidDecode, jidNormalizedUser } from '../socket/baileys.js';

export interface RecipientsDeps {
  sock: BaileysSocket;
  caches: Pick<SessionCaches, 'sentTo'>;
  lookUp: Pick<LookUp, 'lookUp' | 'lookUpAnew' | 'namesOf' | 'hasDevice' | 'hasOwnDevice'>;
  /** See `SessionOptions`. Without it no recipient is known. */
  recipientOf?: ((platformId: string) => Promise<string | undefined>) | undefined;
}

/** `unclear`: the network did not answer. */
export type Standing = 'recipient' | 'somebodyElse' | 'unclear';

/** Number of ids; reading each takes 10 µs or a lookup in Redis. */
const IDS_PER_TURN = 200;
/**
 * A device that the network does not list may be new: the list is read again, but not at each request of that device. Others
 * who ask, and are known to be other people, do not delay a new device of the recipient.
 */
const ASK_AGAIN_MS = 5 * 60_000;

/**
 * Whether a request or receipt comes from the recipient of the message. The network vouches for the sender, not for what they
 * may refer to; and ids are not secret: they are in quotes and backups.
 */
export class Recipients {
  readonly #deps: RecipientsDeps;
  /** By requesting device. Bounded by size: a bound by count would allocate all of its memory at once, in each session. */
  readonly #askedAnew = new LRUCache<string, true>({ maxSize: 1_000, sizeCalculation: () => 1, ttl: ASK_AGAIN_MS });
  /** The last turn of the event loop that is reserved by any receipt, and how many ids still fit into it. */
  #turn = { room: IDS_PER_TURN, comes: Promise.resolve() };

  constructor(deps: RecipientsDeps) {
    this.#deps = deps;
  }

  /** The number that each of the ids went to; unknown ids are left out. Rejects when they cannot be read. */
  async of(platformIds: readonly string[]): Promise<Map<string, string>> {
    const { recipientOf, caches } = this.#deps;
    const found = new Map<string, string>();
    const ids = [...new Set(platformIds)];
    for (let from = 0; from < ids.length; from += IDS_PER_TURN) {
      const step = ids.slice(from, from + IDS_PER_TURN);
      await this.#bookTurn(step.length);
      const numbers = await Promise.all(step.map((id) => caches.sentTo.get(id) ?? recipientOf?.(id)));
      numbers.forEach((to, index) => {
        if (to !== undefined) found.set(step[index]!, to);
      });
    }
    return found;
  }

  /** Whether a receipt from `from` names one message that went to them a moment ago, as nearly every receipt does. */
  isPlain(platformIds: readonly string[], from: string): boolean {
    const [id, ...more] = platformIds;
    const to = id !== undefined && more.length === 0 ? this.#deps.caches.sentTo.get(id) : undefined;
    return to !== undefined && this.#isNamed(from, to);
  }

  #isNamed(jid: string, to: string): boolean {
    const names = this.#deps.lookUp.namesOf(to);
    return names !== undefined && (jid === names.jid || jid === names.lid);
  }

  /** The network does not say how many ids a receipt may name, nor how many receipts come at once. */
  #bookTurn(ids: number): Promise<void> {
    if (this.#turn.room < ids) {
      this.#turn = { room: IDS_PER_TURN, comes: this.#turn.comes.then(() => setImmediate()) };
    }
    this.#turn.room -= ids;
    return this.#turn.comes;
  }

  /**
   * Whether a device may get a message to `numbers` again: it must be listed by the network as the recipient's, or as
   * our own asking for its copy. Pairs of names in the keys do not count, as a phone
   * may have invented them.
   * @param asking.device a jid; `inNameOf` is the same, or the recipient's if the device is ours.
   */
  async mayHave(
    { device, inNameOf }: { device: string; inNameOf: string },
    numbers: readonly string[],
  ): Promise<Standing> {
    const [to, ...others] = [...new Set(numbers.map(canonicalPhoneNumber))];
    const [asked] = numbers;
    if (to === undefined || asked === undefined || others.length > 0) return 'somebodyElse';
    const { lookUp } = this.#deps;
    const isListed = () => lookUp.hasDevice(asked, inNameOf) && (!this.isOurs(device) || lookUp.hasOwnDevice(device));
    const result = (await lookUp.lookUp([asked])).get(asked);
    if (isListed()) return 'recipient';
    if (result && 'error' in result) return 'unclear';
    if (this.#askedAnew.has(device)) return 'somebodyElse';
    this.#askedAnew.set(device, true);
    const anew = await lookUp.lookUpAnew(asked);
    if (isListed()) return 'recipient';
    return 'error' in anew ? 'unclear' : 'somebodyElse';
  }

  isOurs(jid: string): boolean {
    const { user } = this.#deps.sock;
    return areJidsSameUser(jid, user?.id) || areJidsSameUser(jid, user?.lid);
  }

  /**
   * Whether a jid is known to belong to another person than a number; the network is not asked. The names of
   * people change, and are not always known: then the answer is `unclear`.
   */
  async standingOf(jid: string, to: string): Promise<Standing> {
    if (this.#isNamed(jid, to) || this.isOurs(jid)) return 'recipient';
    const { sock, lookUp } = this.#deps;
    const names = lookUp.namesOf(to);
    const person = jidNormalizedUser(await inNamespace(sock.authState.keys, jid, 'pn'));
    const lid = names?.lid ?? (await storedLidOf(sock, to, names?.jid));
    const numbers = names ? [jidDecode(names.jid)?.user] : spellingsOf(to);
    const isNumber = person.endsWith('@s.whatsapp.net');
    if (isNumber && numbers.includes(jidDecode(person)?.user)) return 'recipient';
    if (lid && jidNormalizedUser(lid) === jidNormalizedUser(jid)) return 'recipient';
    return isNumber && (names || lid) ? 'somebodyElse' : 'unclear';
  }
}
