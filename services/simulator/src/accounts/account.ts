import type { Addressing } from '../directory/jids.js';
import { type DeviceKeys, type DeviceState, LinkedDevice } from './linked-device.js';

/** Restrictions the network put on an account; times are Unix milliseconds. */
export interface Restrictions {
  /** Until then it may not write to people it has no conversation with. */
  reachoutLockedUntilMs?: number;
  reachoutLockType?: string;
  /** How many new conversations it may open in this cycle, how many it has opened, and when the next one starts. */
  newChatCap?: { total: number; used: number; endsAtMs?: number };
}

/** How the network treats what waits for the clients of an account; tests set it, it is not part of a saved state. */
export interface BacklogRules {
  /** How late the mark comes that ends a backlog; null is never. */
  endMarkMs: number | null;
  /** Nothing that waits is delivered, nothing that arrives either. */
  isWithheld: boolean;
  /** The phone of a client that is new keeps its history back until this ends. */
  isHistoryWithheld: boolean;
}

/** All of an account that outlives a restart of the server. Fields that older states do not have keep their defaults. */
export interface AccountState {
  readonly own: Pick<
    Account,
    | 'number'
    | 'addressing'
    | 'passkey'
    | 'tokensRequired'
    | 'hasSalt'
    | 'saltIn'
    | 'props'
    | 'rawId'
    | 'createdAtMs'
    | 'pushName'
    | 'business'
    | 'status'
    | 'picture'
    | 'restrictions'
  >;
  readonly sets: Pick<Account, 'blocked' | 'privacy' | 'appState' | 'contacts' | 'tokens'>;
  readonly devices: readonly DeviceState[];
  readonly lastDeviceId: number;
}

/** An account to which a client was linked, or about which a test said something. */
export class Account {
  readonly number: string;
  readonly devices = new Map<number, LinkedDevice>();
  /** Random number that all device identities of the account share. */
  readonly rawId: number;
  readonly createdAtMs: number;
  /** The namespace of its conversations with one person: hidden identifiers once its phone has migrated, else numbers. */
  addressing: Addressing = 'lid';
  /** Its messages to one person must show a token; the network does not ask that of every account. */
  tokensRequired = true;
  /** The network gave it a salt for tokens for strangers; some accounts have none. */
  hasSalt = true;
  /** Where its clients find the salt: in the first history after the linking, or in the settings that they share. */
  saltIn: 'history' | 'settings' = 'history';
  /** What the network tells its clients at a login about experiments, by code, where it differs from the usual. */
  props: Record<string, boolean> = {};
  pushName: string;
  business = false;
  /** Its owner protected it with a passkey: no client links without it. */
  passkey = false;
  status = 'Hey there!';
  /** The picture that a client set; without one the phone shows a square of its own colour. */
  picture: Buffer | undefined;
  restrictions: Restrictions = {};
  readonly backlog: BacklogRules = { endMarkMs: 0, isWithheld: false, isHistoryWithheld: false };
  readonly blocked = new Set<string>();
  readonly privacy = new Map<string, string>();
  /** Encrypted settings patches, by collection, oldest first. */
  readonly appState = new Map<string, Buffer[]>();
  /** Numbers this account exchanged messages with. */
  readonly contacts = new Set<string>();
  /** Number of a person -> when (Unix seconds) they gave this account a token, the latest few. */
  readonly tokens = new Map<string, number[]>();
  #lastDeviceId = 0;

  constructor(number: string, rawId: number, atMs: number) {
    this.number = number;
    this.rawId = rawId;
    this.createdAtMs = atMs;
    this.pushName = `User ${number.slice(-4)}`;
  }

  /** The place of the next linked client. Ids are never given out twice, also when its linking fails. */
  takeDeviceId(): number {
    this.#lastDeviceId += 1;
    return this.#lastDeviceId;
  }

  addDevice(place: { id: number; platform: string; atMs: number }, keys: DeviceKeys): LinkedDevice {
    const device = new LinkedDevice({ ...place, number: this.number, keyIndex: place.id }, keys);
    this.devices.set(place.id, device);
    return device;
  }

  save(): AccountState {
    const { number, addressing, tokensRequired, hasSalt, saltIn, props, passkey, rawId, createdAtMs } = this;
    const { pushName, business, status, picture, restrictions } = this;
    const { blocked, privacy, appState, contacts, tokens } = this;
    const devices = [...this.devices.values()].map((device) => device.save());
    const network = { number, addressing, tokensRequired, hasSalt, saltIn, props, passkey, rawId, createdAtMs };
    const own = { ...network, pushName, business, status, picture, restrictions };
    return { own, sets: { blocked, privacy, appState, contacts, tokens }, devices, lastDeviceId: this.#lastDeviceId };
  }

  static load({ own, sets, devices, lastDeviceId }: AccountState): Account {
    const account = new Account(own.number, own.rawId, own.createdAtMs);
    Object.assign(account, own, sets);
    for (const device of devices) account.devices.set(device.place.id, LinkedDevice.load(device));
    account.#lastDeviceId = lastDeviceId;
    return account;
  }

  /** The user of one of its clients is looking. */
  get isHere(): boolean {
    return [...this.devices.values()].some(({ available }) => available);
  }

  get isLinked(): boolean {
    return this.devices.size > 0;
  }
}
