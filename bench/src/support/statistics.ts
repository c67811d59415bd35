export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** The median of what the pairs of values make, each `above / below`: what a busy machine does meets both of a pair alike. */
export function medianRatio(above: readonly number[], below: readonly number[]): number {
  return rounded(median(above.map((value, i) => value / below[i]!)));
}

/** Between two values where the place falls between them. @param share 0 to 1. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)]!;
  const above = sorted[Math.ceil(place)]!;
  return below + (above - below) * (place - Math.floor(place));
}

/** To four digits: the rest is noise. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

export function sum(values: readonly number[]): number {
  return values.reduce((all, each) => all + each, 0);
}

/** The median of each kind over all rounds. */
export function mediansByKind(rounds: readonly Record<string, number>[]): Record<string, number> {
  const kinds = Object.keys(rounds[0] ?? {});
  return Object.fromEntries(kinds.map((kind) => [kind, rounded(median(rounds.map((round) => round[kind]!)))]));
}
