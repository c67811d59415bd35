import { type DeviceAddress, parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import type { Reply } from '@gateway/contracts/message-content';
import { platformIds } from '@gateway/contracts/platform-id';
import { ApiError } from '@gateway/runtime/errors';
import { readDevice } from '@gateway/store/devices';
import { readRecipients, readSend, readSendByTag } from '@gateway/store/read-send';
import { readReceived } from '@gateway/store/received-messages';
import type { ApiDeps } from './api-deps.js';

type FindDeps = Pick<ApiDeps, 'store' | 'clock'>;

/** A message that can be answered, and who has it. */
interface Answerable {
  reply: Reply;
  numbers: ReadonlySet<string>;
}

/**
 * Check 8: the message that a send answers, by our id or by the network's, of ours or of others. Throws 400 when this
 * device knows no such message, and for recipients who do not have it.
 */
export async function findReply(
  deps: FindDeps,
  address: DeviceAddress,
  { existingMessageId, to }: { existingMessageId: string; to: readonly string[] },
): Promise<Reply> {
  const found =
    (await findSend(deps, address, existingMessageId)) ??
    (await findOwnMessage(deps, address, existingMessageId)) ??
    (await findReceived(deps, address, existingMessageId));
  if (!found)
    throw refuse([{ path: ['existingMessageId'], message: 'is no message that this device sent or received' }]);
  const strangers = to.flatMap((number, index) => (found.numbers.has(number) ? [] : [index]));
  if (strangers.length > 0) {
    const path = (index: number) => (to.length > 1 ? ['to', index] : ['to']);
    throw refuse(
      strangers.map((index) => ({ path: path(index), message: 'is not in the conversation of this message' })),
    );
  }
  return found.reply;
}

/** Each recipient of a list answers to what they got themselves. */
async function findSend(deps: FindDeps, address: DeviceAddress, id: string): Promise<Answerable | undefined> {
  const send = parseMessageId(id) && (await readSend(deps.store, address, id));
  if (!send || send.state === 'accepting') return undefined;
  const numbers = await numbersOf(deps, address, { tag: send.tag, from: 0, limit: LIMITS.maxRecipients });
  return { reply: { kind: 'own', tag: send.tag, part: 0 }, numbers };
}

async function findOwnMessage(deps: FindDeps, address: DeviceAddress, id: string): Promise<Answerable | undefined> {
  const device = await readDevice(deps.store, address);
  const own = device && platformIds(device.idKey).parse(id);
  const send = own && (await readSendByTag(deps.store, address, own.tag));
  if (!send || own.recipient >= send.total || own.part >= send.parts) return undefined;
  const numbers = await numbersOf(deps, address, { tag: own.tag, from: own.recipient, limit: 1 });
  return { reply: { kind: 'own', ...own }, numbers };
}

async function findReceived(deps: FindDeps, address: DeviceAddress, id: string): Promise<Answerable | undefined> {
  const received = await readReceived(deps.store, address, { platformId: id, nowMs: deps.clock.nowMs() });
  if (!received) return undefined;
  return { reply: { kind: 'received', platformId: id, from: received.jid }, numbers: new Set([received.phone]) };
}

async function numbersOf(
  { store }: FindDeps,
  address: DeviceAddress,
  { tag, ...page }: { tag: SendTag; from: number; limit: number },
): Promise<ReadonlySet<string>> {
  return new Set((await readRecipients(store, address, tag, page)).map(({ to }) => to));
}

function refuse(details: { path: (string | number)[]; message: string }[]): ApiError {
  return new ApiError('invalid_request', { details: details.slice(0, LIMITS.maxValidationDetails) });
}
