/** Counts nothing. */
export const silentCounts = {
  countAttempt: () => {},
  observeTold: () => {},
  countGap: () => {},
  countLostContent: () => {},
};
