import type { proto } from '@whiskeysockets/baileys';
import { AccountRegistry } from '../accounts/account-registry.js';
import { PresenceBoard } from '../accounts/presence-board.js';
import { StaleLids } from '../accounts/stale-lids.js';
import { Seed } from '../crypto/seed.js';
import { Directory } from '../directory/directory.js';
import { FaultBook } from '../faults/fault-book.js';
import { GroupRegistry } from '../groups/group-registry.js';
import type { Logger } from '../logger.js';
import { MediaStore } from '../media/media-store.js';
import { PhoneBook } from '../phones/phone-book.js';
import { PhoneKeyring } from '../phones/phone-keys.js';
import { makeServerCredentials, type ServerCredentials } from '../wire/certificates.js';
import { Counters } from './counters.js';
import { HandlingTimes } from './handling-times.js';
import { type Profile, RULES, type Rules } from './rules.js';

/** What can be set from outside; what is not `readonly` may change while it runs. */
export interface NetworkSettings {
  readonly profile: Profile;
  /** How long every stanza to a client travels: what a client sees as the round trip. */
  latencyMs: number;
  /** Share of the phones that really decrypt: 1 everywhere but in benchmarks. */
  decryptSample: number;
  /** Oldest client version let in, compared part by part; empty lets all in. */
  minimumVersion: readonly number[];
  /** How many QR codes a pairing attempt gets, and how long the first and the others live. */
  qrCodes: number;
  firstQrMs: number;
  nextQrMs: number;
  /** The first scan of a QR code only makes the client choose another secret; the second one links. */
  refreshAfterScan: boolean;
  /** How long the server thinks about a request for an 8-character code, and how long one can be typed. */
  codeVerdictMs: number;
  codeLifeMs: number;
  /** How long a status may stay unconfirmed before the stream ends over it. */
  statusAckMs: number;
  /** When clients of the versions of today are told to end; Unix milliseconds. */
  clientExpirationMs: number | null;
  /** How often the server asks clients whether they are there; 0 is never. */
  serverPingMs: number;
  /** Host and port of the HTTPS server for media, as clients are told. */
  mediaHost: string;
  /** Base of the URLs of profile pictures. */
  pictureUrl: string;
}

/** Everything the network knows, in one place. Behaviour lives in the folders above this one. */
export interface Network {
  readonly seed: Seed;
  readonly settings: NetworkSettings;
  /** What its profile makes of it. */
  readonly rules: Rules;
  readonly credentials: ServerCredentials;
  readonly directory: Directory;
  readonly phones: PhoneBook;
  readonly accounts: AccountRegistry;
  readonly presences: PresenceBoard;
  readonly staleLids: StaleLids;
  readonly groups: GroupRegistry;
  readonly media: MediaStore;
  readonly faults: FaultBook;
  readonly counters: Counters;
  /** How long handlers take per stanza, by its tag. */
  readonly handling: HandlingTimes;
  readonly logger: Logger;
  now(): number;
}

export type ClientPayload = proto.ClientPayload;

export function makeNetwork(seedText: string, settings: NetworkSettings, logger: Logger): Network {
  const seed = new Seed(seedText);
  let draws = 0;
  return {
    seed,
    settings,
    rules: RULES[settings.profile],
    logger,
    credentials: makeServerCredentials(seed, Date.now()),
    directory: new Directory(seed),
    phones: new PhoneBook(new PhoneKeyring(seed)),
    accounts: new AccountRegistry(seed),
    presences: new PresenceBoard(),
    staleLids: new StaleLids(),
    groups: new GroupRegistry(),
    media: new MediaStore(),
    faults: new FaultBook(() => {
      draws += 1;
      return seed.fraction(`fault/${draws}`);
    }),
    counters: new Counters(),
    handling: new HandlingTimes(),
    now: Date.now,
  };
}
