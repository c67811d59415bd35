// The first that fits: those that come later are named by the earlier ones too.
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const;
const SYSTEMS = [
  ['Android', 'Android'],
  ['iPhone', 'iOS'],
  ['iPad', 'iOS'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** What people call it, such as "Firefox · Linux". `undefined` for one that is not known. */
export function nameBrowser(agent = ''): string | undefined {
  const names = [BROWSERS, SYSTEMS].map((known) => known.find(([sign]) => agent.includes(sign))?.[1]);
  const found = names.filter((name) => name !== undefined);
  return found.length > 0 ? found.join(' · ') : undefined;
}
