/** What one figure of a finding should be. */
export interface Goal {
  /** Path of the figure in the result: `ratio`, or `ratios.rtt0`. */
  figure: string;
  atMost?: number;
  atLeast?: number;
}

export function describeGoals(goals: readonly Goal[]): string {
  const words = goals.map(({ figure, atMost, atLeast }) =>
    [
      figure,
      ...(atMost === undefined ? [] : [`<= ${atMost}`]),
      ...(atLeast === undefined ? [] : [`>= ${atLeast}`]),
    ].join(' '),
  );
  return words.join(', ');
}

/** Whether a finding reaches all of its goals; a figure that is missing does not. */
export function meetsGoals(finding: object, goals: readonly Goal[]): boolean {
  return goals.every(({ figure, atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY }) => {
    const value = figure.split('.').reduce<unknown>((part, key) => (part as Record<string, unknown>)?.[key], finding);
    return typeof value === 'number' && value <= atMost && value >= atLeast;
  });
}
