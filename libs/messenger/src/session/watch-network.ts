import type { Addressing } from '../addressing/addressing.js';
import { watchMigration } from '../addressing/watch-migration.js';
import { toFailureOutcome } from '../codes/disconnect-outcomes.js';
import { watchRestriction } from '../codes/read-restriction.js';
import { confirmUnread } from '../inbound/confirm-unread.js';
import { holdMessages } from '../inbound/hold-messages.js';
import { holdReceipts } from '../inbound/hold-receipts.js';
import type { Receipt } from '../inbound/read-receipt.js';
import type { LookUp } from '../lookup/look-up.js';
import { watchNumbers } from '../lookup/watch-numbers.js';
import { RetryAnswers } from '../sending/answer-retries.js';
import { Recipients } from '../sending/recipients.js';
import { resendMessages } from '../sending/resend-messages.js';
import { answerPings } from '../socket/answer-pings.js';
import type { BinaryNode } from '../socket/baileys.js';
import type { ContactTokens } from '../tokens/contact-tokens.js';
import type { OptionalQueries } from './optional-queries.js';
import type { SessionDeps } from './session-deps.js';
import type { IncomingMessage, OnSessionEvent } from './session-events.js';
import { watchDeadline } from './watch-deadline.js';

export interface WatchNetworkDeps extends SessionDeps {
  lookUp: LookUp;
  contactTokens: ContactTokens;
  addressing: Addressing;
  optional: OptionalQueries;
  onCreds(): void;
  onOpen(): void;
}

/** Listens to all unsolicited stanzas of the network, and passes each to its handler. */
export function watchNetwork(deps: WatchNetworkDeps): void {
  const { sock, onEvent, optional } = deps;
  const onFailed = failWith(deps);
  // The library's own shutdown is part of the end.
  sock.ws.on('frame', ({ tag }: Partial<BinaryNode>) => tag === 'xmlstreamend' || optional.noteFrame());
  confirmUnread(sock);
  answerPings(sock);
  sock.ev.on('creds.update', () => deps.onCreds());
  sock.ev.on('connection.update', ({ connection }) => {
    if (connection === 'open') deps.onOpen();
  });
  watchReceipts(deps);
  watchMigration(sock, {
    onNamespace: (namespace) => migrate(deps, namespace),
    onSetting: (isEnabled) => deps.addressing.noteMigrationSetting(isEnabled),
    onFailed,
  });
  watchNumbers(sock, (people) => void onEvent({ kind: 'numbersKnown', people }));
  watchRestriction(sock, () => void onEvent({ kind: 'restrictionNews' }));
  watchDeadline(sock, (expiresAtMs) => void onEvent({ kind: 'versionDeadline', expiresAtMs }));
}

/** What people write. Before what takes it in turn is there, which a hook that is added later is not in. */
export function watchMessages(
  deps: Pick<SessionDeps, 'sock' | 'onEvent' | 'end' | 'phoneAnswerMs'>,
): ReturnType<typeof holdMessages> {
  const { sock, onEvent, end, phoneAnswerMs } = deps;
  const onMessage = (message: IncomingMessage) => takeMessage(onEvent, message);
  return holdMessages(sock, { onMessage, onFailed: failWith(deps), signal: end.signal, phoneAnswerMs });
}

const failWith =
  ({ end }: Pick<SessionDeps, 'end'>) =>
  (error: unknown) =>
    end.begin(toFailureOutcome(error));

async function takeMessage(onEvent: OnSessionEvent, message: IncomingMessage): Promise<void> {
  await onEvent({ kind: 'message', message });
  const { phone, hiddenId, isPhoneStored } = message;
  // Their opt-out may become known only now, under this name and after the pair.
  if (isPhoneStored && phone && hiddenId) void onEvent({ kind: 'numbersKnown', people: [{ phone, hiddenId }] });
}

function watchReceipts(deps: WatchNetworkDeps): void {
  const { sock, auth, caches, end, logger, lookUp, contactTokens, onEvent, getMessage, recipientOf } = deps;
  const recipients = new Recipients({ sock, caches, lookUp, recipientOf });
  const retries = new RetryAnswers({
    ...{ sock, recipients, logger, signal: end.signal },
    resend: async (request) => {
      if (getMessage) await resendMessages({ sock, lookUp, contactTokens, getMessage }, request);
    },
    hasMessage: async (id) => (await getMessage?.(id)) !== undefined,
    saveCreds: () => auth.saveCreds(),
  });
  holdReceipts(sock, {
    onReceipt: async (receipt, { attrs }) => {
      const own = recipientOf ? await ownPart(recipients, receipt, attrs.participant ?? attrs.from ?? '') : receipt;
      if (own.platformIds.length > 0) await onEvent({ kind: 'receipt', receipt: own });
    },
    onRetry: async (node) => {
      if (getMessage) void onEvent({ kind: 'retryAnswered', outcome: await retries.answer(node) });
    },
  });
}

/** Handles a receipt about messages that its sender may have got. */
async function ownPart(recipients: Recipients, receipt: Receipt, from: string): Promise<Receipt> {
  if (recipients.isPlain(receipt.platformIds, from)) return receipt;
  const platformIds: string[] = [];
  for (const [id, to] of await recipients.of(receipt.platformIds)) {
    if ((await recipients.standingOf(from, to)) !== 'somebodyElse') platformIds.push(id);
  }
  return { ...receipt, platformIds };
}

async function migrate(
  { caches, onEvent, addressing }: WatchNetworkDeps,
  namespace: Parameters<Addressing['learn']>[0],
): Promise<void> {
  // People without a hidden identifier may have one now: the next lookup asks.
  caches.contacts.clear();
  void onEvent({ kind: 'lookUpsForgotten' });
  await addressing.learn(namespace);
}
