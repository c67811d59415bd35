import { createHmac } from 'node:crypto';
import type { Simulator } from '@gateway/simulator/start-simulator';
import type { BinaryNode } from '@whiskeysockets/baileys';

/** What a client that knows its account's salt puts into a message to a stranger. */
export function csToken({ saltOf, network }: Simulator, sender: string, to: string): BinaryNode {
  const { number } = network.directory.resolve(to)!;
  const lid = network.directory.jidOf(number, 'lid');
  return { tag: 'cstoken', attrs: {}, content: createHmac('sha256', saltOf(sender)).update(lid).digest() };
}
