import type { MediaContent, MediaUpload } from '@gateway/contracts/content/media-content';
import type { Restriction, RestrictionKind } from '@gateway/contracts/devices/restriction';
import type { SessionReport } from '@gateway/contracts/devices/session-report';
import { systemClock } from '@gateway/runtime/clock';
import { Addressing } from '../addressing/addressing.js';
import { SaltSeeker } from '../app-state/salt-seeker.js';
import { hasSpoken, isHangUp, toDisconnectOutcome, toFailureOutcome } from '../codes/disconnect-outcomes.js';
import { readRestriction } from '../codes/read-restriction.js';
import { readFrames } from '../frames/read-frames.js';
import { HistoryKeeper } from '../history/history-keeper.js';
import { askForFile, type LostFile } from '../inbound/ask-for-file.js';
import type { Linking } from '../linking/code-display.js';
import type { LinkMethod } from '../linking/link-method.js';
import { removeOwnDevice } from '../linking/remove-own-device.js';
import { watchLinking } from '../linking/watch-linking.js';
import { fetchOwnPicture } from '../lookup/fetch-own-picture.js';
import { LookUp } from '../lookup/look-up.js';
import { storedLidOf } from '../lookup/stored-lid.js';
import { forgetResends } from '../sending/resend-budget.js';
import { sendMessage } from '../sending/send-message.js';
import { uploadMedia } from '../sending/upload-media.js';
import { AckWatch } from '../sending/watch-acks.js';
import { jidDecode, jidNormalizedUser } from '../socket/baileys.js';
import { guardWrites, type WriteGuard } from '../socket/guard-writes.js';
import { watchServerWords } from '../socket/server-words.js';
import { DEFAULT_BROWSER, standInAgent } from '../socket/socket-settings.js';
import { ContactTokens } from '../tokens/contact-tokens.js';
import { findAcquainted } from '../tokens/find-acquainted.js';
import { type FirstContactStanding, FirstContacts, noteLinking } from '../tokens/first-contacts.js';
import { PrivacyTokens } from '../tokens/privacy-tokens.js';
import { CatchUp } from './catch-up.js';
import { examineSession } from './examine-session.js';
import { countLogin } from './login-counter.js';
import { OptionalQueries } from './optional-queries.js';
import type { SessionDeps } from './session-deps.js';
import { SessionEndedError } from './session-errors.js';
import type { Account, EndCircumstances } from './session-events.js';
import type { LookUpResult, MessengerSession, OutgoingMessage, SentMessage } from './session-types.js';
import { watchMessages, watchNetwork } from './watch-network.js';
import { within } from './within.js';

const SEND_TIMEOUT_MS = 20_000;
const OPEN_TIMEOUT_MS = 30_000;
/** Timeout of the wait for pending key writes, and of the library's own shutdown. */
const FINISH_TIMEOUT_MS = 5_000;
const RESTRICTION_TIMEOUT_MS = 2_000;
const LOGGED_OUT = 401;
const NO_ANSWER = 408;
/** The name that the library gives an account while it is being linked by code. */
const NAMELESS = '~';

/**
 * One connection of one device: opening -> open -> ended, and never back.
 * While a device is being linked it stays `opening`: the network closes the connection once the phone has accepted.
 *
 * The end has two steps. It *begins* with the first reason, from the network or from us (a lost ownership, unreadable keys,
 * a stall, `close`): from then on no frame is sent. It is *over* when the socket is closed and the keys are
 * written; `closed` reports that, once, as the last event.
 */
export class Session implements MessengerSession {
  readonly caughtUp: Promise<void>;
  readonly historyTaken: Promise<void>;
  readonly #deps: SessionDeps;
  readonly #guard: WriteGuard;
  readonly #acks: AckWatch;
  readonly #lookUp: LookUp;
  readonly #addressing: Addressing;
  readonly #tokens: PrivacyTokens;
  readonly #contactTokens: ContactTokens;
  readonly #firstContacts: FirstContacts;
  readonly #history: HistoryKeeper;
  readonly #optional: OptionalQueries;
  /** For what messages wait for. */
  readonly #urgent: OptionalQueries;
  readonly #salt: SaltSeeker;
  readonly #catchUp: CatchUp;
  readonly #serverWords: () => string | undefined;
  readonly #linking: Linking | undefined;
  readonly #openTimer: NodeJS.Timeout;
  readonly #over: Promise<void>;
  #isOpen = false;
  #hangUp: EndCircumstances = {};
  #isLinked: boolean;
  #name: string | undefined;
  /** Settles when `linked` was reported. */
  #linkedReport: Promise<void> = Promise.resolve();

  constructor(deps: SessionDeps) {
    const { sock, auth, end, link } = deps;
    this.#deps = deps;
    this.#isLinked = auth.creds.account !== undefined;
    readFrames(sock);
    this.#guard = guardWrites(sock, {
      assertMayWrite: () => this.#assertMayWrite(),
      assertHeld: () => deps.assertMayWrite(),
      onRefused: (error) => end.begin(toFailureOutcome(error)),
    });
    this.#acks = new AckWatch({
      sock,
      ackTimeoutMs: deps.ackTimeoutMs,
      onLateRefusal: (refusal) => void deps.onEvent({ kind: 'lateRefusal', refusal }),
    });
    this.#optional = new OptionalQueries(deps.leftOut, deps.caches.answeredQueries);
    this.#urgent = this.#optional.besides();
    this.#addressing = new Addressing({
      creds: auth.creds,
      saveCreds: () => auth.saveCreds(),
      isRestricted: () => this.#isRestricted(),
      logger: deps.logger,
      nowMs: Date.now,
      signal: end.signal,
    });
    this.#serverWords = watchServerWords(sock);
    this.#lookUp = new LookUp({ sock, caches: deps.caches, optional: this.#optional, signal: end.signal });
    this.#tokens = new PrivacyTokens({ sock, keys: auth.keys, caches: deps.caches, signal: end.signal });
    const agent = standInAgent(deps.endpoint);
    this.#history = new HistoryKeeper({ ...deps, signal: end.signal, agent });
    this.historyTaken = this.#history.first;
    this.#salt = new SaltSeeker({
      ...{ ...deps, signal: end.signal, agent },
      ...{ optional: this.#optional, historyTaken: this.historyTaken },
    });
    this.#contactTokens = new ContactTokens({ sock, auth });
    this.#firstContacts = new FirstContacts({ auth, tokens: this.#contactTokens });
    this.#linking = this.#isLinked || !link ? undefined : this.#startLinking(link);
    this.#openTimer = setTimeout(() => this.#stall('opening'), deps.openTimeoutMs ?? OPEN_TIMEOUT_MS);
    const absent = watchMessages(deps);
    // The hook that is added last sees a message first.
    this.#catchUp = new CatchUp({ ...deps, signal: end.signal, quietMs: deps.catchUpQuietMs });
    // A STOP may be among what the phone is still asked for.
    this.caughtUp = this.#catchUp.done.then(() => absent.settled());
    watchNetwork({
      ...{ ...deps, lookUp: this.#lookUp, addressing: this.#addressing, optional: this.#optional },
      contactTokens: this.#contactTokens,
      onCreds: () => this.#onCreds(),
      onOpen: () => this.#onOpen(),
    });
    this.#over = this.#awaitEnd(absent.ended);
  }

  async send(message: OutgoingMessage): Promise<SentMessage> {
    this.#assertOpen();
    const { sock, caches, end, sendTimeoutMs = SEND_TIMEOUT_MS } = this.#deps;
    caches.sentTo.set(message.platformId, message.to);
    return sendMessage(
      {
        sendTimeoutMs,
        ...{ sock, guard: this.#guard, acks: this.#acks, signal: end.signal },
        ...{ lookUp: this.#lookUp, addressing: this.#addressing, tokens: this.#tokens },
        ...{ contactTokens: this.#contactTokens, firstContacts: this.#firstContacts },
        onStall: () => this.#stall('sending'),
      },
      message,
    );
  }

  async uploadMedia(media: Pick<MediaContent, 'type' | 'mimeType'>, bytes: Buffer): Promise<MediaUpload> {
    this.#assertOpen();
    const { sock, logger, end } = this.#deps;
    return uploadMedia({ sock, logger, signal: end.signal }, media, bytes);
  }

  async lookUp(numbers: readonly string[], options?: { urgent?: boolean }): Promise<Map<string, LookUpResult>> {
    this.#assertOpen();
    return this.#lookUp.lookUp(numbers, options);
  }

  urgently<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#lookUp.urgently(work);
  }

  lookUpsSettled(numbers: readonly string[]): Promise<void> {
    return this.#lookUp.settled(numbers);
  }

  numberOf(number: string): string {
    const decoded = jidDecode(this.#lookUp.namesOf(number)?.jid ?? '');
    return decoded?.server === 's.whatsapp.net' ? decoded.user : number;
  }

  async hiddenIdOf(number: string): Promise<string | undefined> {
    const names = this.#lookUp.namesOf(number);
    const lid = names?.lid ?? (await storedLidOf(this.#deps.sock, number, names?.jid));
    return lid && jidNormalizedUser(lid);
  }

  namedHiddenIdOf(number: string): string | undefined {
    const lid = this.#lookUp.namesOf(number)?.lid;
    return lid && jidNormalizedUser(lid);
  }

  async findAcquainted(numbers: readonly string[]): Promise<Set<string>> {
    this.#assertOpen();
    return findAcquainted(this.#deps.sock, numbers);
  }

  get firstContacts(): FirstContactStanding {
    return this.#firstContacts.standing;
  }

  findGivers(numbers: readonly string[]): Promise<Set<string>> {
    return this.#contactTokens.findGivers(numbers);
  }

  noteRefusal(number: string): Promise<void> {
    return this.#firstContacts.refused(number);
  }

  async readRestriction(about?: RestrictionKind): Promise<Restriction | undefined> {
    this.#assertOpen();
    const { sock, end } = this.#deps;
    return readRestriction(sock, end.signal, about, about ? this.#urgent : this.#optional);
  }

  /** Rejects soon if the network does not answer, as all messages of the account wait for it. */
  async #isRestricted(): Promise<boolean> {
    const { sock, end } = this.#deps;
    const limit = { timeoutMs: RESTRICTION_TIMEOUT_MS, what: 'restriction', signal: end.signal };
    return (await within(limit, readRestriction(sock, end.signal, undefined, this.#urgent))) !== undefined;
  }

  async examine(): Promise<SessionReport> {
    this.#assertOpen();
    const { sock, auth, end } = this.#deps;
    const { phone } = this.#account();
    return examineSession({
      ...{ sock, phone, creds: auth.creds, lookUp: this.#lookUp },
      ...{ backlog: this.#catchUp.state, optional: this.#optional, signal: end.signal },
    });
  }

  async forgetResends(users: ReadonlySet<string>): Promise<void> {
    if (!this.#deps.end.outcome) await forgetResends(this.#deps.auth, users);
  }

  async trace(ms: number): Promise<string[]> {
    this.#assertOpen();
    const { sock, end, trace } = this.#deps;
    return trace.record(sock, { ms, signal: end.signal });
  }

  async askForFile(file: LostFile): Promise<string | undefined> {
    this.#assertOpen();
    const { sock, end } = this.#deps;
    return askForFile({ sock, signal: end.signal }, file);
  }

  async fetchProfilePicture(): Promise<string | undefined> {
    this.#assertOpen();
    const { sock, end } = this.#deps;
    return fetchOwnPicture({ sock, optional: this.#optional, signal: end.signal });
  }

  async logOut(timeoutMs: number): Promise<void> {
    this.#assertOpen();
    const { sock, end } = this.#deps;
    const dropped = this.#over.then(() => end.outcome?.kind === 'loggedOut');
    await removeOwnDevice(sock, { timeoutMs, dropped });
    end.begin({ kind: 'loggedOut', code: LOGGED_OUT });
  }

  close(): Promise<void> {
    this.#deps.end.begin({ kind: 'closedByUs' });
    return this.#over;
  }

  #startLinking(link: LinkMethod): Linking {
    const { sock, auth, end, onEvent, browser } = this.#deps;
    return watchLinking({
      ...{ sock, auth, link, signal: end.signal },
      browser: browser ?? DEFAULT_BROWSER,
      onCode: (code) => {
        clearTimeout(this.#openTimer);
        void onEvent({ kind: 'code', code });
      },
      onEnded: (outcome) => end.begin(outcome),
    });
  }

  #onOpen(): void {
    clearTimeout(this.#openTimer);
    this.#isOpen = true;
    countLogin(this.#deps.auth.creds);
    // A failure ends the session by way of the key store.
    this.#deps.auth.saveCreds().catch(() => {});
    this.#history.fetchWaiting();
    void this.#salt.seek();
    this.#name = this.#account().name;
    void this.#deps.onEvent({ kind: 'open', account: this.#account() });
  }

  #onCreds(): void {
    const { auth, onEvent } = this.#deps;
    const isNew = !this.#isLinked && auth.creds.account !== undefined;
    if (isNew) noteLinking(auth.creds);
    const saved = auth.saveCreds();
    // A failure ends the session by way of the key store.
    saved.catch(() => {});
    if (isNew) {
      this.#isLinked = true;
      this.#linkedReport = saved.then(() => onEvent({ kind: 'linked', account: this.#account() }));
      this.#linkedReport.catch(() => {});
    }
    const { name } = this.#account();
    if (this.#isOpen && name !== undefined && name !== this.#name) {
      this.#name = name;
      void onEvent({ kind: 'renamed', name });
    }
  }

  #account(): Account {
    const { me } = this.#deps.auth.creds;
    const jid = me?.id ?? '';
    const name = me?.name ?? me?.verifiedName;
    return { jid, phone: jidDecode(jid)?.user ?? '', ...(name && name !== NAMELESS && { name }) };
  }

  #assertOpen(): void {
    if (!this.#isOpen || this.#deps.end.outcome) throw new SessionEndedError();
  }

  #assertMayWrite(): void {
    if (this.#deps.end.outcome) throw new SessionEndedError();
    this.#deps.assertMayWrite();
  }

  #stall(what: string): void {
    this.#deps.logger.warn('messenger session stalled', { while: what });
    this.#deps.end.begin({ kind: 'reconnect', code: NO_ANSWER, backoff: 'network' });
  }

  /** Resolves when the session is over, after its last event. */
  async #awaitEnd(messagesTold: Promise<void>): Promise<void> {
    const { end, auth, onEvent } = this.#deps;
    await this.#awaitSocketEnd();
    clearTimeout(this.#openTimer);
    this.#acks.endAll();
    let outcome = end.outcome!;
    await within({ timeoutMs: FINISH_TIMEOUT_MS, what: 'messages' }, messagesTold).catch(() => {});
    try {
      await within({ timeoutMs: FINISH_TIMEOUT_MS, what: 'key writes' }, auth.drain());
      await this.#linkedReport;
    } catch (error) {
      // Whatever the cause, the store lacks what the session believed it had.
      outcome = toFailureOutcome(error);
    }
    const serverWords = this.#serverWords();
    const circumstances = { ...(serverWords !== undefined && { serverWords }), ...this.#hangUp };
    void onEvent({ kind: 'closed', outcome, circumstances });
  }

  #findSuspects(error: unknown): EndCircumstances {
    if (!isHangUp(error)) return {};
    const isSaid = hasSpoken(error);
    const suspects = this.#optional.suspects(isSaid ? 'spoken' : 'wordless');
    return { ...(suspects && { suspects }), ...(isSaid && { isSaid }) };
  }

  /** The library's socket has closed, on its own or by us. */
  #awaitSocketEnd(): Promise<void> {
    const { sock, end, auth } = this.#deps;
    return new Promise((resolve) => {
      sock.ev.on('connection.update', ({ connection, lastDisconnect }) => {
        if (connection !== 'close') return;
        if (!end.outcome) this.#hangUp = this.#findSuspects(lastDisconnect?.error);
        const linking = this.#linking && !auth.creds.account && { codesLeft: this.#linking.codesLeft() };
        end.begin(
          toDisconnectOutcome({
            error: lastDisconnect?.error,
            ...(linking && { linking }),
            nowMs: systemClock.nowMs(),
          }),
        );
        resolve();
      });
      end.signal.addEventListener('abort', () => {
        void sock.end(undefined);
        setTimeout(resolve, FINISH_TIMEOUT_MS).unref();
      });
    });
  }
}
