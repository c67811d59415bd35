import type { DeviceAddress } from './ids.js';

/**
 * A doorbell says "look again", never what to do: a lost one costs half a minute at most.
 * `results` tells a request that waits for an OTP that its status has changed.
 * `desired` and `owner` wake owners, `observed` wakes requests that wait for a code or a status, `sends` wakes the device's scheduler.
 * `questions` asks the owner of a device something, `answers` tells the process that asked.
 */
const DOORBELL_TOPICS = ['desired', 'observed', 'owner', 'sends', 'results', 'questions', 'answers'] as const;
export type DoorbellTopic = (typeof DOORBELL_TOPICS)[number];

export interface Doorbell extends DeviceAddress {
  topic: DoorbellTopic;
}

export function encodeDoorbell({ topic, workspace, device }: Doorbell): string {
  return `${topic} ${workspace} ${device}`;
}

/** `undefined` for anything that is not a doorbell: the channel is open to every client of that Redis. */
export function decodeDoorbell(text: string): Doorbell | undefined {
  const [topic, workspace, device, ...rest] = text.split(' ');
  if (!workspace || !device || rest.length > 0) return undefined;
  const known = DOORBELL_TOPICS.find((each) => each === topic);
  return known && { topic: known, workspace, device };
}
