import { type DeviceAddress, type MessageId, parseMessageId } from './ids.js';

/**
 * A doorbell says "look again", never what to do: a lost one costs half a minute at most.
 * `results` tells a request that waits for an OTP that its status has changed.
 * `desired` and `owner` wake owners, `observed` wakes requests that wait for a code or a status, `sends` wakes the device's scheduler.
 * `questions` asks the owner of a device something, `answers` tells the process that asked.
 * `codes` tells the owner of a one-time password, before its job does.
 */
const DOORBELL_TOPICS = ['desired', 'observed', 'owner', 'sends', 'results', 'questions', 'answers', 'codes'] as const;
export type DoorbellTopic = (typeof DOORBELL_TOPICS)[number];

export interface Doorbell extends DeviceAddress {
  topic: DoorbellTopic;
  /** Of `codes`: which one, and the HTTP request that made it. */
  code?: { messageId: MessageId; requestId: string };
}

export function encodeDoorbell({ topic, workspace, device, code }: Doorbell): string {
  return [topic, workspace, device, ...(code ? [code.messageId, code.requestId] : [])].join(' ');
}

/** `undefined` for anything that is not a doorbell: the channel is open to every client of that Redis. */
export function decodeDoorbell(text: string): Doorbell | undefined {
  const [topic, workspace, device, messageId, requestId, ...rest] = text.split(' ');
  if (!workspace || !device || rest.length > 0) return undefined;
  const known = DOORBELL_TOPICS.find((each) => each === topic);
  if (!known || (known === 'codes') !== (messageId !== undefined)) return undefined;
  if (messageId === undefined) return { topic: known, workspace, device };
  if (!parseMessageId(messageId) || !requestId) return undefined;
  return { topic: known, workspace, device, code: { messageId: messageId as MessageId, requestId } };
}
