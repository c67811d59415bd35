import { INBOUND_LIMITS, type InboundContact } from '@gateway/contracts/content/inbound-content';
import { cutText } from './cut-text.js';

interface ContactCard {
  displayName?: string | null;
  /** A vCard (RFC 6350), in which the messenger's own apps give each number's digits as `waid`. */
  vcard?: string | null;
}

/** A picture may be in one. */
const MAX_CARD_CHARACTERS = 16_384;
const LINE_OF_NUMBER = /^(?:[\w-]+\.)?TEL([^:\r\n]*):([^\r\n]*)/gim;
const OWN_DIGITS = /;waid=(\d{5,15})/i;

/** Names and numbers of shared contacts, as their sender gives them. */
export function readContacts(cards: readonly ContactCard[]): InboundContact[] {
  const { maxContacts, maxNameCharacters } = INBOUND_LIMITS;
  return cards.slice(0, maxContacts).map(({ displayName, vcard }) => {
    const card = (vcard ?? '').slice(0, MAX_CARD_CHARACTERS);
    const name = displayName || /^FN[^:\r\n]*:([^\r\n]*)/im.exec(card)?.[1] || '';
    return { name: cutText(name, maxNameCharacters), phones: phonesOf(card) };
  });
}

function phonesOf(card: string): string[] {
  const phones = new Set<string>();
  for (const [, parameters = '', value = ''] of card.matchAll(LINE_OF_NUMBER)) {
    const digits = OWN_DIGITS.exec(parameters)?.[1] ?? value.replace(/\D/g, '');
    if (digits.length >= 5 && digits.length <= 15) phones.add(digits);
    if (phones.size >= INBOUND_LIMITS.maxPhonesOfContact) break;
  }
  return [...phones];
}
