import type { Addressing } from '../addressing/addressing.js';
import type { Namespace } from '../addressing/addressing-state.js';
import { authorOfQuote } from '../addressing/author-of-quote.js';
import type { AckOutcome } from '../codes/ack-outcomes.js';
import { type LaterWrites, storeLater } from '../keys/store-later.js';
import type { LookUp } from '../lookup/look-up.js';
import { RecipientError, TimeoutError } from '../session/session-errors.js';
import type { OutgoingMessage, SentMessage } from '../session/session-types.js';
import { within } from '../session/within.js';
import type { BaileysSocket } from '../socket/baileys.js';
import type { WriteGuard } from '../socket/guard-writes.js';
import type { ContactTokens } from '../tokens/contact-tokens.js';
import type { FirstContacts } from '../tokens/first-contacts.js';
import type { PrivacyTokens } from '../tokens/privacy-tokens.js';
import { toQuotingProto } from './quote.js';
import type { AckWatch } from './watch-acks.js';

export interface SendDeps {
  sock: BaileysSocket;
  guard: WriteGuard;
  acks: AckWatch;
  lookUp: LookUp;
  addressing: Addressing;
  tokens: PrivacyTokens;
  contactTokens: ContactTokens;
  firstContacts: FirstContacts;
  sendTimeoutMs: number;
  /** A send or the storing of its keys took longer: the library's only mutex may be stuck, and only a new socket has a new one. */
  onStall(): void;
  /** Aborted when the session ends. */
  signal: AbortSignal;
}

/** The recipient by both names; the account's namespace decides which one a message uses. */
interface Recipient {
  jid: string;
  lid: string | undefined;
}

/** A message that has its turn looks up at once what it lacks: to wait for a code would keep that code from one. */
const IN_TURN = { urgent: true };

/**
 * Encrypts and writes one message, and returns a promise of its verdict. Rejects only if not a byte of it was written; if that
 * is uncertain it resolves, and the verdict is `unacknowledged`.
 */
export async function sendMessage(deps: SendDeps, message: OutgoingMessage): Promise<SentMessage> {
  const { jid, lid } = await findRecipient(deps, message.to, IN_TURN);
  const attempt = await deps.addressing.begin({ hasLid: lid !== undefined });
  const first = await relay(deps, message, { namespace: attempt.namespace, ...IN_TURN }).catch((thrown: unknown) => {
    attempt.cancel();
    throw thrown;
  });
  const verdict = async (): Promise<AckOutcome> => {
    const fresh = await refineVerdict(deps, message, { verdict: await first.ack, namespace: attempt.namespace });
    const again = (namespace: Namespace) => sendAgain(deps, message, namespace);
    const last = await attempt.settle(fresh, { again, withToken: first.withToken });
    // Keys that cannot be read end the session by way of the key store.
    await deps.tokens[last.kind === 'accepted' ? 'accepted' : 'refused'](jid).catch(() => {});
    if (last.kind === 'accepted') await deps.firstContacts.accepted(message.to).catch(() => {});
    return last;
  };
  return { answered: first.answered, ack: verdict() };
}

/** Resolves once the stanza is written, with the network's verdict to come. */
async function relay(
  deps: SendDeps,
  message: OutgoingMessage,
  { namespace, ...options }: { namespace: Namespace; urgent?: boolean },
): Promise<SentMessage & { withToken: boolean }> {
  const { sock, guard, acks, lookUp, signal, sendTimeoutMs: timeoutMs } = deps;
  const { jid, lid } = await findRecipient(deps, message.to, options);
  await deps.tokens.takeOver(jid);
  const content = await quoteIn(deps, message, namespace);
  const additionalNodes = await deps.contactTokens.nodesFor(lid ?? jid);
  const wait = acks.expect(message.platformId, { onStaleLid: () => lookUp.refreshLid(message.to) });
  const named = namespace === 'lid' && { additionalAttributes: nameFor(jid) };
  const relayed = { messageId: message.platformId, additionalNodes, ...named };
  const to = (namespace === 'lid' && lid) || jid;
  const later = storeLater();
  const { result, written } = guard.track(() => later.run(() => sock.relayMessage(to, content, relayed)));
  try {
    await within({ timeoutMs, what: 'send', signal }, result);
  } catch (error) {
    // Ends the session, so that the library cannot still write the message later.
    if (error instanceof TimeoutError) deps.onStall();
    if (!written()) {
      wait.cancel();
      throw error;
    }
  }
  wait.startClock();
  const ack = onceStored(deps, wait.outcome, later);
  return { answered: wait.outcome, ack, withToken: additionalNodes.length > 0 };
}

/** What is recorded as sent has its keys in the store: the next owner encrypts nothing else to these people with the same ones. */
async function onceStored(
  { onStall, signal, sendTimeoutMs: timeoutMs }: SendDeps,
  ack: Promise<AckOutcome>,
  { stored }: LaterWrites,
): Promise<AckOutcome> {
  const outcome = await ack;
  try {
    await within({ timeoutMs, what: 'keys of a message', signal }, stored());
    return outcome;
  } catch (error) {
    if (error instanceof TimeoutError) onStall();
    return { kind: 'unacknowledged' };
  }
}

/** Without it the recipient's phone shows an unknown person: a hidden identifier alone does not identify the writer. */
export function nameFor(jid: string): Record<string, string> {
  return { peer_recipient_pn: jid };
}

async function quoteIn({ sock }: SendDeps, { content }: OutgoingMessage, namespace: Namespace) {
  const book = { own: sock.user, keys: sock.authState.keys };
  return toQuotingProto(content, await authorOfQuote(book, content, namespace));
}

async function findRecipient({ lookUp }: SendDeps, number: string, options: { urgent?: boolean }): Promise<Recipient> {
  const found = lookUp.find(number) ?? (await lookUp.lookUp([number], options)).get(number);
  if (found && 'error' in found) throw new RecipientError('look_up_failed', found.error);
  const names = lookUp.namesOf(number);
  if (!names) throw new RecipientError('not_on_messenger');
  return names;
}

/** An outdated device list is the only refusal that a new lookup can fix. Done once: the second refusal counts. */
async function refineVerdict(
  deps: SendDeps,
  message: OutgoingMessage,
  { verdict, namespace }: { verdict: AckOutcome; namespace: Namespace },
): Promise<AckOutcome> {
  if (verdict.kind !== 'staleDevices') return verdict;
  deps.lookUp.forgetDevices(message.to);
  return (await sendAgain(deps, message, namespace)) ?? verdict;
}

/** The same message under the same id; `undefined` when it could not be written. */
async function sendAgain(
  deps: SendDeps,
  message: OutgoingMessage,
  namespace: Namespace,
): Promise<AckOutcome | undefined> {
  try {
    const { ack } = await relay(deps, message, { namespace });
    return await ack;
  } catch {
    return undefined;
  }
}
