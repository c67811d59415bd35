/** How a conversation names its people: by phone number or by the hidden identifier that stands for it. */
export type Addressing = 'pn' | 'lid';

export interface ParsedJid {
  readonly user: string;
  readonly server: string;
  /** 0 is the account's phone; linked devices count from 1. */
  readonly device: number;
}

/** Takes `user@server` and `user:device@server` apart; undefined for anything else. */
export function parseJid(jid: string | undefined): ParsedJid | undefined {
  const at = jid?.indexOf('@') ?? -1;
  if (!jid || at < 0) return undefined;
  const [userAndAgent = '', device = '0'] = jid.slice(0, at).split(':');
  const user = userAndAgent.split('_')[0] ?? '';
  return { user, server: jid.slice(at + 1), device: Number(device) };
}

export function makeJid(user: string, server: string, device = 0): string {
  return device === 0 ? `${user}@${server}` : `${user}:${device}@${server}`;
}
