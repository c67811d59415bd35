import { contentOfPart, isMessageContent } from '@gateway/contracts/content/message-content';
import { parseMessageId } from '@gateway/contracts/ids';
import type { RecipientView } from '@gateway/contracts/sends/packed-send';
import { type OwnRecipientError, ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { UnknownKeyError } from '@gateway/store/core/vault';
import { recordResults } from '@gateway/store/sends/change-send';
import type { SendRecord, StoredContent } from '@gateway/store/sends/read-send';
import type { TakenSend } from '@gateway/store/sends/take-in-sends';
import type { DeviceDeps } from '../deps.js';
import type { MemoryBudget } from '../scheduling/memory-budget.js';
import type { IllegalMoveError } from '../scheduling/places.js';
import type { LoadOptions } from '../scheduling/retries.js';
import { SendProgress } from '../scheduling/send-progress.js';
import { loadQuotes } from './load-quotes.js';
import type { TakeIns } from './take-ins.js';

type LoadDeps = Pick<DeviceDeps, 'store' | 'ownership' | 'clock' | 'logger' | 'metrics' | 'ids'> & {
  takeIns: Pick<TakeIns, 'take' | 'takeSmall'>;
  memory: Pick<MemoryBudget, 'load'>;
};

/**
 * Takes a send in, as its scheduler works on it; `undefined` when nothing is left to do. One whose content cannot be read
 * fails as a whole, or it would come back for ever; but one that is sealed with a key of others waits (`later`): it is loaded
 * again, and at once by a process that has the key. A large one waits for its turn among those of all devices.
 */
export async function loadSend(
  deps: LoadDeps,
  messageId: string,
  options: LoadOptions,
): Promise<SendProgress | 'later' | undefined> {
  const { takeIns, memory } = deps;
  const tag = parseMessageId(messageId)?.tag;
  if (!tag) return undefined;
  const taken = await (options.isUrgent ? takeIns.take(tag) : takeIns.takeSmall(tag));
  if (taken !== 'large') return begin(deps, taken, { messageId, ...options });
  return memory.load(async () => {
    if (options.isOver?.()) return undefined;
    return begin(deps, await takeIns.take(tag), { messageId, ...options });
  });
}

async function begin(
  deps: LoadDeps,
  taken: TakenSend | undefined,
  { messageId, ...options }: LoadOptions & { messageId: string },
): Promise<SendProgress | 'later' | undefined> {
  const { store, ownership } = deps;
  if (!taken || taken.record.messageId !== messageId) return undefined;
  const { record, recipients } = taken;
  const loaded = await checkContent(deps, taken);
  if (!loaded || loaded === 'later') return loaded;
  const { content, reply } = loaded;
  await noteKeyIsThere(deps, record, recipients);
  const quoteFor = await loadQuotes({ store, address: ownership.address, ids: deps.ids }, reply);
  const onIllegalMove = (error: IllegalMoveError) => {
    deps.logger.error('a recipient was about to make an illegal move', { messageId, ...error.fields, error });
  };
  return new SendProgress({ record, recipients, content, quoteFor, onIllegalMove, ...options });
}

async function checkContent(
  deps: LoadDeps,
  { record, recipients, stored }: TakenSend,
): Promise<StoredContent | 'later' | undefined> {
  const { logger, metrics } = deps;
  const queued = recipients.filter(({ status }) => status === 'queued').map(({ index }) => index);
  if (stored instanceof UnknownKeyError) {
    logger.warn('send waits for the encryption key of its content', { messageId: record.messageId, ...stored.fields });
    metrics.countAwaitingKey();
    await settleRecipients(deps, record, queued, { event: 'held', errorCode: AWAITING_KEY });
    return 'later';
  }
  if (stored instanceof Error) {
    logger.error('content of a send cannot be read', { messageId: record.messageId, error: stored });
  } else if (stored && isMessageContent(stored.content) && contentOfPart(stored.content, record.parts - 1)) {
    return stored;
  } else {
    logger.error('send has content of an unknown kind', { messageId: record.messageId });
  }
  await failRecipients(deps, record, queued, 'content_unreadable');
  return undefined;
}

/** Says of recipients that they will get nothing, and why. */
export async function failRecipients(
  deps: Pick<LoadDeps, 'store' | 'ownership' | 'clock'>,
  record: SendRecord,
  recipients: readonly number[],
  error: OwnRecipientError,
): Promise<void> {
  await settleRecipients(deps, record, recipients, { event: 'failed', errorCode: ownErrorCode(error) });
}

const AWAITING_KEY = ownErrorCode('awaiting_key');

/** They wait for their turn now. */
async function noteKeyIsThere(deps: LoadDeps, record: SendRecord, recipients: readonly RecipientView[]): Promise<void> {
  const waited = recipients.filter(({ status, errorCode }) => status === 'queued' && errorCode === AWAITING_KEY);
  const indexes = waited.map(({ index }) => index);
  await settleRecipients(deps, record, indexes, { event: 'held', errorCode: 0 });
}

/** The same, or that they wait. */
async function settleRecipients(
  { store, ownership, clock }: Pick<LoadDeps, 'store' | 'ownership' | 'clock'>,
  record: SendRecord,
  recipients: readonly number[],
  { event, errorCode }: { event: 'failed' | 'held'; errorCode: number },
): Promise<void> {
  const chunk = 1_000;
  for (let from = 0; from < recipients.length; from += chunk) {
    const events = recipients.slice(from, from + chunk).map((recipient) => ({ recipient, part: 0, event, errorCode }));
    await recordResults(store, ownership, { tag: record.tag, nowMs: clock.nowMs(), events });
  }
}
