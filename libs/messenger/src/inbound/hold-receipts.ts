import { systemClock } from '@gateway/runtime/clock';
import type { BaileysSocket, BinaryNode } from '../socket/baileys.js';
import { confirmStanza } from './confirm-unread.js';
import { type Receipt, readReceipt } from './read-receipt.js';

export interface HoldReceiptsDeps {
  onReceipt(receipt: Receipt, node: BinaryNode): void | Promise<void>;
  /** A phone could not decrypt a message and asks for it again. Confirms the request, or leaves it to be repeated at the next login. */
  onRetry(node: BinaryNode): Promise<void>;
}

/**
 * Confirms receipts once `onReceipt` is done. The library does so at once; a process that dies between that and our own
 * record would lose it permanently. What was not confirmed, the network sends again at the next login.
 *
 * A receipt whose `onReceipt` rejects is never confirmed. The library does not see them: all that it does for one, beside the
 * confirmation, is to make events, which come late while it handles a backlog.
 */
export function holdReceipts(sock: BaileysSocket, { onReceipt, onRetry }: HoldReceiptsDeps): void {
  sock.ws.removeAllListeners('CB:receipt');
  sock.ws.on('CB:receipt', async (node: BinaryNode) => {
    if (node.attrs.type === 'retry') return onRetry(node);
    const receipt = readReceipt(node, systemClock.nowMs());
    if (receipt) await onReceipt(receipt, node);
    confirmStanza(sock, node);
  });
}
