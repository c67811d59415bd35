import type { DeviceAddress } from './ids.js';

/**
 * A doorbell says "look again", never what to do: a lost one costs a tick.
 * `desired` and `lease` wake owners, `observed` wakes whoever waits for a code or a status, `sends` wakes the device's scheduler.
 */
export type DoorbellTopic = 'desired' | 'observed' | 'lease' | 'sends';

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
  if (topic !== 'desired' && topic !== 'observed' && topic !== 'lease' && topic !== 'sends') return undefined;
  return { topic, workspace, device };
}
