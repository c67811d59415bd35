/** Which year's network it behaves as: `2026` is what clients meet today, `2025` what it was before hidden identifiers. */
export const PROFILES = ['2025', '2026'] as const;
export type Profile = (typeof PROFILES)[number];

/** What the network of 2026 does and the one of 2025 does not. */
export interface Rules {
  /** Linking: the first scan of a QR code only makes the client choose another secret. */
  readonly retiresScannedCodes: boolean;
  /** Linking: accounts with a passkey link no client that cannot show it. */
  readonly demandsPasskeys: boolean;
  /** Codes of eight characters: the verdict takes a while, display names are checked, codes end. */
  readonly judgesCodes: boolean;
  /** An account has one namespace for all people; messages in the other are refused, and what comes in is named by it. */
  readonly hasNamespaces: boolean;
  /** Phones and settings tell clients whether their account has migrated, and where conversations went. */
  readonly tellsMigration: boolean;
  /** A message by hidden identifier that does not say to which number it is shows its sender as unknown. */
  readonly wantsRecipientNumber: boolean;
  /** Messages to one person must show a token; people give them, and the first history has the salt for others. */
  readonly wantsTokens: boolean;
  /** A used-up quota of conversations has a code of its own, and is told only to those who ask for it by its kind. */
  readonly namesCaps: boolean;
  /** Look-ups by number are answered under hidden identifiers, and list no devices by number. */
  readonly answersByLid: boolean;
  /** One device that is not known any more fails a whole query for keys. */
  readonly refusesKeyBatches: boolean;
  /** What waits for a client comes in batches that it asks for, and statuses can withhold or end all of it. */
  readonly deliversInBatches: boolean;
}

const of2026: Rules = {
  retiresScannedCodes: true,
  demandsPasskeys: true,
  judgesCodes: true,
  hasNamespaces: true,
  tellsMigration: true,
  wantsRecipientNumber: true,
  wantsTokens: true,
  namesCaps: true,
  answersByLid: true,
  refusesKeyBatches: true,
  deliversInBatches: true,
};

export const RULES: Record<Profile, Rules> = {
  '2026': of2026,
  '2025': Object.fromEntries(Object.keys(of2026).map((rule) => [rule, false])) as unknown as Rules,
};
