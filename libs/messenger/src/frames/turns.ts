/** How much of a turn of the event loop the frames of all connections of this process may take: a one-time password waits for it at each step. */
const TURN_MS = 4;

let beganMs: number | undefined;
const waiting: (() => void)[] = [];

/** Whether frames have had their time of this turn; the first who asks begins it. */
export function isTurnOver(): boolean {
  if (beganMs !== undefined) return performance.now() - beganMs > TURN_MS;
  begin();
  return false;
}

/** One after the other, so that one connection with much to say does not come before all others. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => waiting.push(resolve));
}

function begin(): void {
  beganMs = performance.now();
  setImmediate(end);
}

function end(): void {
  beganMs = undefined;
  const next = waiting.shift();
  if (!next) return;
  begin();
  next();
}
