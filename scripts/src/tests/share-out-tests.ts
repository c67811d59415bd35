/** A file that was never measured, such as a new one. */
const UNKNOWN_SECONDS = 1;

/**
 * One of several parts of the tests that take about as long as each other.
 * @param part `2/4` is the second of four. Throws when it is not written like that.
 */
export function partOfTests(files: readonly string[], part: string, seconds: Record<string, number>): string[] {
  const [, number, parts] = (/^(\d+)\/(\d+)$/.exec(part) ?? []).map(Number);
  const share = parts ? shareOutTests(files, parts, seconds)[number! - 1] : undefined;
  if (!share) throw new Error(`There is no part ${part} of the tests: write 2/4 for the second of four`);
  return share;
}

/**
 * Divides test files among runs side by side so that all end at about the same time: the slowest file first, each to the
 * run that has the least to do. Each file is in exactly one run.
 */
export function shareOutTests(files: readonly string[], runs: number, seconds: Record<string, number>): string[][] {
  const secondsOf = (file: string) => seconds[file] ?? UNKNOWN_SECONDS;
  const shares = Array.from({ length: runs }, () => ({ files: [] as string[], seconds: 0 }));
  for (const file of [...files].sort((a, b) => secondsOf(b) - secondsOf(a))) {
    const share = shares.reduce((least, each) => (each.seconds < least.seconds ? each : least));
    share.files.push(file);
    share.seconds += secondsOf(file);
  }
  return shares.map((share) => share.files.sort());
}
