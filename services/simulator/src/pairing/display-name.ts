const BROWSERS = new Set(['Chrome', 'Edge', 'Firefox', 'IE', 'Opera', 'Safari', 'Android']);
const SYSTEMS = new Set(['Windows', 'Mac OS', 'Mac', 'Linux', 'Ubuntu', 'Debian', 'Fedora', 'Android', 'iOS']);

/** Whether `Browser (OS)` names a browser and an operating system that exist: the server gives no code to others. */
export function isRealDisplayName(text: string | undefined): boolean {
  const [, browser = '', system = ''] = /^([^()]+) \(([^()]+)\)$/.exec(text ?? '') ?? [];
  return BROWSERS.has(browser) && SYSTEMS.has(system);
}
