/** In no id of the network: see libs/messenger/src/inbound/read-inbound.ts. */
const SEPARATOR = '\0';

/**
 * Under which a message is kept and told that a person wrote: its id at the network. Phones choose these, so what a second person wrote
 * under the same one has behind it who they are.
 * @param writer a few letters that tell one person from another, and nothing of them.
 */
export function makeReceivedId(platformId: string, writer?: string): string {
  return writer === undefined ? platformId : `${platformId}${SEPARATOR}${writer}`;
}

/** The id of the message at the network. */
export const platformIdOf = (receivedId: string): string => receivedId.split(SEPARATOR, 1)[0]!;
