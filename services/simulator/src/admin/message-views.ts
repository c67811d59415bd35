import type { Network } from '../network/network.js';
import type { InboxRow } from '../phones/inbox.js';

export type Delivery = InboxRow & { readonly to: string };

/** What the phone of a number shows, in order of arrival. */
export function messagesOf(network: Network, number: string): InboxRow[] {
  return [...(network.phones.known(number)?.inbox.rows() ?? [])];
}

/** The same over all phones, of one sender or of all. */
export function deliveriesFrom(network: Network, from: string | undefined): Delivery[] {
  const deliveries: Delivery[] = [];
  for (const { number, inbox } of network.phones.all()) {
    for (const row of inbox.rows()) {
      if (from === undefined || row.from === from) deliveries.push({ to: number, ...row });
    }
  }
  return deliveries;
}
