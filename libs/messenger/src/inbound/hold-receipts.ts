import { systemClock } from '@gateway/runtime/clock';
import type { BaileysSocket, BinaryNode } from '../socket/baileys.js';
import { replaceListeners } from '../socket/listeners.js';
import { type Receipt, readReceipt } from './read-receipt.js';

export interface HoldReceiptsDeps {
  onReceipt(receipt: Receipt, node: BinaryNode): void | Promise<void>;
  /** A phone could not decrypt a message and asks for it again. Confirms the request, or leaves it to be repeated at the next login. */
  onRetry(node: BinaryNode): Promise<void>;
}

/**
 * Reports receipts before the library sees them, and passes them on once `onReceipt` is done. The library
 * acknowledges a receipt at once; a process that dies between that and our own record would lose it permanently. What
 * was not acknowledged, the network sends again at the next login.
 *
 * A receipt whose `onReceipt` rejects is never acknowledged. A second reason not to use the library's events: they come
 * late while it handles a backlog.
 */
export function holdReceipts(sock: BaileysSocket, { onReceipt, onRetry }: HoldReceiptsDeps): void {
  replaceListeners(sock, 'CB:receipt', (library) => async (node) => {
    if (node.attrs.type === 'retry') return onRetry(node);
    const receipt = readReceipt(node, systemClock.nowMs());
    if (receipt) await onReceipt(receipt, node);
    await library(node);
  });
}
