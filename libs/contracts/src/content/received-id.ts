/** In no id of the network: see libs/messenger/src/inbound/read-inbound.ts. */
const SEPARATOR = '\0';
/** People who write under one id: phones make up random ones, so a second one means harm. */
const MOST_WRITERS = 8;

/**
 * Under which a message is kept and told that a person wrote: its id at the network. Phones choose these, so what another person wrote
 * under the same one has a digit behind it. All that there are for an id, in their order.
 */
export function receivedIdsUnder(platformId: string): [first: string, ...others: string[]] {
  const others = Array.from({ length: MOST_WRITERS - 1 }, (_, i) => `${platformId}${SEPARATOR}${i + 1}`);
  return [platformId, ...others];
}

/** The id of the message at the network. */
export const platformIdOf = (receivedId: string): string => receivedId.split(SEPARATOR, 1)[0]!;
