import type { RecipientRow, SendContent, SendSummary, SendView } from '@gateway/contracts/console/send-views';
import { mayAct, type UserRole } from '@gateway/contracts/console/users';
import type { MessageContent } from '@gateway/contracts/content/message-content';
import { parseMessageId, type Workspace } from '@gateway/contracts/ids';
import { maskPhoneNumber } from '@gateway/contracts/people/phone-number';
import type { RecipientView } from '@gateway/contracts/sends/packed-send';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { sendStatus } from '@gateway/contracts/sends/statuses';
import type { Store } from '@gateway/store/core/store';
import { findDeviceByShortId } from '@gateway/store/devices/devices';
import type { FoundSend } from '@gateway/store/sends/listing/list-sends';
import { readSend, readStatuses } from '@gateway/store/sends/read-send';

/** A send of the workspace, whichever token made it. */
export async function findSend(store: Store, workspace: Workspace, messageId: string): Promise<FoundSend | undefined> {
  const short = parseMessageId(messageId)?.shortDeviceId;
  const device = short && (await findDeviceByShortId(store, workspace, short));
  if (!device) return undefined;
  const address = { workspace, device };
  const send = await readSend(store, address, messageId);
  return send && { address, send };
}

export function summarize({ address: { device }, send }: FoundSend): SendSummary {
  const { messageId, kind, total, counts, createdAtMs, expiresAtMs } = send;
  return { messageId, device, kind, status: sendStatus(counts), total, counts, createdAtMs, expiresAtMs };
}

export async function readSendView(store: Store, found: FoundSend): Promise<SendView> {
  return { ...summarize(found), statuses: await readStatuses(store, found.address, found.send) };
}

export function describeRecipient({ index, to, status, errorCode, atMs }: RecipientView, role: UserRole): RecipientRow {
  const error = recipientErrorName(errorCode);
  return {
    ...{ index, to: mayAct(role, 'operator') || !/^\d/.test(to) ? to : maskPhoneNumber(to), status, atMs },
    ...(error && { error }),
  };
}

/** Of a one-time password nothing: to read it is to be let in with it. */
export function describeContent({ send }: FoundSend, content: MessageContent | undefined): SendContent {
  if (send.kind === 'otp' || !content) return {};
  if (content.kind === 'text') return { text: content.text };
  if (content.kind !== 'media') return {};
  const { type, mimeType, sizeBytes, filename, caption, followingText } = content;
  const text = [caption, followingText].filter((part) => part !== undefined).join('\n\n');
  return {
    ...(text !== '' && { text }),
    file: { type, mimeType, sizeBytes, ...(filename !== undefined && { name: filename }) },
  };
}
