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

/** The phones that something arrived on, with how much. */
export function phonesIn(network: Network): object[] {
  return [...network.phones.all()].map(({ number, inbox, ownCopies }) => {
    const rows = [...inbox.rows()];
    const shown = rows.filter((row) => row.shown > 0).length;
    return { number, messages: rows.length, shown, ownCopies, ...network.phones.habitsOf(number) };
  });
}
