import type { Reply } from '@gateway/contracts/content/message-content';
import { type DeviceAddress, parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { ApiError } from '@gateway/runtime/errors';
import { type Device, readDevice, readIdKey } from '@gateway/store/devices/devices';
import { readReceivedUnder } from '@gateway/store/inbound/received-messages';
import { readRecipients, readSend, readSendByTag, type SendRecord } from '@gateway/store/sends/read-send';
import type { ApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import type { ApiDeps } from '../api-deps.js';
import { maySee } from './find-message.js';

type FindDeps = Pick<ApiDeps, 'store' | 'clock'>;

/** A message that can be quoted, and the canonical numbers of those who have it, as the network's may differ from ours. */
interface Answerable {
  reply: Reply;
  numbers: ReadonlySet<string>;
}

/**
 * Check 8: the message that a send answers, by our id or by the network's, of ours or of others. Throws 400 when this
 * device knows no such message, and for recipients who do not have it. A send of another token counts as unknown: who
 * was in it could be found out by asking.
 */
export async function findReply(
  deps: FindDeps,
  { address, token }: { address: DeviceAddress; token: ApiToken },
  { existingMessageId, to }: { existingMessageId: string; to: readonly string[] },
): Promise<Reply> {
  const device = await readDevice(deps.store, address);
  const own = device && { address, device, token };
  const found =
    (own && (await findSend(deps, own, existingMessageId))) ??
    (own && (await findOwnMessage(deps, own, existingMessageId))) ??
    (await findReceived(deps, address, { id: existingMessageId, to }));
  if (!found)
    throw refuse([{ path: ['existingMessageId'], message: 'is no message that this device sent or received' }]);
  const strangers = to.flatMap((number, index) => (found.numbers.has(canonicalPhoneNumber(number)) ? [] : [index]));
  if (strangers.length > 0) {
    const path = (index: number) => (to.length > 1 ? ['to', index] : ['to']);
    throw refuse(
      strangers.map((index) => ({ path: path(index), message: 'is not in the conversation of this message' })),
    );
  }
  return found.reply;
}

interface OwnDevice {
  address: DeviceAddress;
  device: Device;
  token: ApiToken;
}

/** Each recipient of a list quotes the message that they got. */
async function findSend(deps: FindDeps, own: OwnDevice, id: string): Promise<Answerable | undefined> {
  const send = parseMessageId(id) && (await readSend(deps.store, own.address, id));
  if (!send || !isAnswerable(send, own)) return undefined;
  const numbers = await numbersOf(deps, own.address, { tag: send.tag, from: 0, limit: LIMITS.maxRecipients });
  return { reply: { kind: 'own', tag: send.tag, part: 0 }, numbers };
}

async function findOwnMessage(deps: FindDeps, own: OwnDevice, platformId: string): Promise<Answerable | undefined> {
  const id = platformIds((await readIdKey(deps.store, own.address))!).parse(platformId);
  const send = id && (await readSendByTag(deps.store, own.address, id.tag));
  if (!send || id.recipient >= send.total || id.part >= send.parts || !isAnswerable(send, own)) return undefined;
  const numbers = await numbersOf(deps, own.address, { tag: id.tag, from: id.recipient, limit: 1 });
  return { reply: { kind: 'own', ...id }, numbers };
}

/** The account that is linked now cannot quote messages of an earlier one. */
function isAnswerable(send: SendRecord, { device, token }: OwnDevice): boolean {
  return maySee(token, send) && send.createdAtMs >= (device.accountSinceMs ?? 0);
}

/** Phones choose their ids: where several people wrote under this one, that of the recipient. */
async function findReceived(
  { store, clock }: FindDeps,
  address: DeviceAddress,
  { id, to }: { id: string; to: readonly string[] },
): Promise<Answerable | undefined> {
  const found = await readReceivedUnder(store, address, { platformId: id, nowMs: clock.nowMs() });
  const answers = found.map(([receivedId, { jid, phone }]): Answerable => {
    // A person without a known number may be any recipient, or none.
    const numbers = new Set(phone === undefined ? [] : [canonicalPhoneNumber(phone)]);
    return { reply: { kind: 'received', platformId: receivedId, from: jid }, numbers };
  });
  return answers.find(({ numbers }) => to.every((number) => numbers.has(canonicalPhoneNumber(number)))) ?? answers[0];
}

async function numbersOf(
  { store }: FindDeps,
  address: DeviceAddress,
  { tag, ...page }: { tag: SendTag; from: number; limit: number },
): Promise<ReadonlySet<string>> {
  return new Set((await readRecipients(store, address, tag, page)).map(({ to }) => canonicalPhoneNumber(to)));
}

function refuse(details: { path: (string | number)[]; message: string }[]): ApiError {
  return new ApiError('invalid_request', { details: details.slice(0, LIMITS.maxValidationDetails) });
}
