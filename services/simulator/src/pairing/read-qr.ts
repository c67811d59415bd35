import type { Addressing } from '../directory/jids.js';

/** What a code on a client's screen says. */
export interface QrText {
  readonly ref: string;
  readonly noiseKey: string;
  readonly identity: string;
  readonly advSecret: string;
  /** Not of the real network: the namespace that the account of the test shall have, `...?addressing=pn#ref,...`. */
  readonly addressing: Addressing | undefined;
}

/** Reads the text of a QR code, with or without the address in front of it. Undefined if a part is missing. */
export function readQr(text: string): QrText | undefined {
  const [head = '', tail] = text.trim().split('#');
  const [ref, noiseKey, identity, advSecret] = (tail ?? head).split(',');
  if (!ref || !noiseKey || !identity || !advSecret) return undefined;
  return { ref, noiseKey, identity, advSecret, addressing: tail === undefined ? undefined : addressingOf(head) };
}

function addressingOf(address: string): Addressing | undefined {
  const wanted = new URLSearchParams(address.split('?')[1] ?? '').get('addressing');
  return wanted === 'pn' || wanted === 'lid' ? wanted : undefined;
}
