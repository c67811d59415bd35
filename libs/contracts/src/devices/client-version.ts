/** A version of the network's web client, which the gateway reports. */
export const BUILT_IN_VERSION = '2.3000.1043857760';
/** When that version was the current one. The network refuses a version some four months later. */
export const BUILT_IN_VERSION_DATE_MS = Date.UTC(2026, 6, 25);

const VERSION = /^\d{1,3}\.\d{1,5}\.\d{1,10}$/;

export function isClientVersion(text: string): boolean {
  return VERSION.test(text);
}

/** `2.3000.1` -> `[2, 3000, 1]`. The text is one that `isClientVersion` has passed. */
export function versionNumbers(version: string): [number, number, number] {
  const [major = 0, minor = 0, build = 0] = version.split('.').map(Number);
  return [major, minor, build];
}
