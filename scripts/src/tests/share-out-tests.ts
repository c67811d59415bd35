/** A file that was never measured, such as a new one. */
const UNKNOWN_SECONDS = 1;

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
