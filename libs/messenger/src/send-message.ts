import type { AckOutcome } from './ack-outcomes.js';
import type { BaileysSocket } from './baileys.js';
import type { WriteGuard } from './guard-writes.js';
import type { LookUp } from './look-up.js';
import type { PrivacyTokens } from './privacy-tokens.js';
import { toQuotingProto } from './quote.js';
import { RecipientError, TimeoutError } from './session-errors.js';
import type { OutgoingMessage } from './session-types.js';
import type { AckWatch } from './watch-acks.js';
import { within } from './within.js';

export interface SendDeps {
  sock: BaileysSocket;
  guard: WriteGuard;
  acks: AckWatch;
  lookUp: LookUp;
  tokens: PrivacyTokens;
  sendTimeoutMs: number;
  /** A send took longer than that: the library's one mutex is stuck, and only a new socket has another. */
  onStall(): void;
  /** Aborted when the session ends. */
  signal: AbortSignal;
}

/**
 * Encrypts and writes one message, and promises its verdict. Rejects only when not a byte of it has gone out; when that
 * is uncertain it resolves, and the verdict will be `unacknowledged`.
 */
export async function sendMessage(deps: SendDeps, message: OutgoingMessage): Promise<{ ack: Promise<AckOutcome> }> {
  const { ack, jid } = await relay(deps, message);
  const verdict = ack.then(async (first) => {
    const last = await refineVerdict(deps, message, first);
    // Keys that cannot be read end the session by way of the key store.
    await deps.tokens[last.kind === 'accepted' ? 'accepted' : 'refused'](jid).catch(() => {});
    return last;
  });
  return { ack: verdict };
}

async function relay(deps: SendDeps, message: OutgoingMessage): Promise<{ ack: Promise<AckOutcome>; jid: string }> {
  const { sock, guard, acks, signal, sendTimeoutMs: timeoutMs } = deps;
  const jid = await findJid(deps, message.to);
  await deps.tokens.takeOver(jid);
  const wait = acks.expect(message.platformId);
  const content = toQuotingProto(message.content, sock.user?.id);
  const { result, written } = guard.track(() => sock.relayMessage(jid, content, { messageId: message.platformId }));
  try {
    await within({ timeoutMs, what: 'send', signal }, result);
  } catch (error) {
    // Ends the session, so that the library cannot write the message later behind our back.
    if (error instanceof TimeoutError) deps.onStall();
    if (!written()) {
      wait.cancel();
      throw error;
    }
  }
  wait.startClock();
  return { ack: wait.outcome, jid };
}

async function findJid({ lookUp }: SendDeps, number: string): Promise<string> {
  const found = lookUp.find(number) ?? (await lookUp.lookUp([number])).get(number);
  if (found && 'error' in found) throw new RecipientError('look_up_failed', found.error);
  const jid = lookUp.jidOf(number);
  if (!jid) throw new RecipientError('not_on_messenger');
  return jid;
}

async function refineVerdict(deps: SendDeps, message: OutgoingMessage, verdict: AckOutcome): Promise<AckOutcome> {
  if (verdict.kind !== 'staleDevices') return verdict;
  // The one refusal that a fresh look can cure. Once: a second one is the answer.
  deps.lookUp.forgetDevices(message.to);
  try {
    const { ack } = await relay(deps, message);
    return await ack;
  } catch {
    return verdict;
  }
}
