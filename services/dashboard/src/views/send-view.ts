import type { RecipientRow, SendContent, SendSummary, SendView } from '@gateway/contracts/console/send-views';
import { mayAct, type UserRole } from '@gateway/contracts/console/users';
import type { MessageContent } from '@gateway/contracts/content/message-content';
import { parseMessageId, type Workspace } from '@gateway/contracts/ids';
import { maskPhoneNumber } from '@gateway/contracts/people/phone-number';
import type { RecipientView } from '@gateway/contracts/sends/packed-send';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { sendStatus } from '@gateway/contracts/sends/statuses';
import type { Store } from '@gateway/store/core/store';
import { UnknownKeyError } from '@gateway/store/core/vault';
import { findDeviceByShortId } from '@gateway/store/devices/devices';
import type { FoundSend } from '@gateway/store/sends/listing/list-sends';
import { readContent, readSend, readStatuses } from '@gateway/store/sends/read-send';

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

/** The same with what each begins to say: nothing of it is kept here, as it may be forgotten at any time. */
export async function summarizeWithWords(store: Store, sends: readonly FoundSend[]): Promise<SendSummary[]> {
  return Promise.all(
    sends.map(async (found) => {
      const begins = await readBeginning(store, found);
      return { ...summarize(found), ...(begins && { begins }) };
    }),
  );
}

/** As a viewer may see a send of a list. */
export function withoutWords({ begins: _, ...summary }: SendSummary): SendSummary {
  return summary;
}

const FIRST_CHARACTERS = 80;

async function readBeginning(store: Store, found: FoundSend): Promise<string | undefined> {
  if (found.send.kind === 'otp') return undefined;
  const stored = await readContent(store, found.address, found.send.tag).catch((thrown: unknown) => {
    // Its key was taken away: the list is read without it.
    if (thrown instanceof UnknownKeyError) return undefined;
    throw thrown;
  });
  const { text, file } = describeContent(found, stored?.content);
  // By characters: half of a pair of surrogates is none.
  const start = [
    ...(text ?? file?.name ?? '')
      .slice(0, 4 * FIRST_CHARACTERS)
      .trim()
      .replace(/\s+/g, ' '),
  ];
  return start.length > FIRST_CHARACTERS ? `${start.slice(0, FIRST_CHARACTERS).join('')}…` : start.join('');
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
