const LIFETIME = /^(\d{1,5})(m|h|d|y)$/;
const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000, y: 365 * 86_400_000 } as const;

/** `90d`, `12h`, `30m` or `1y` in ms; `undefined` for anything else. */
export function parseLifetime(text: string): number | undefined {
  const match = LIFETIME.exec(text);
  if (!match || Number(match[1]) === 0) return undefined;
  return Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS];
}
