/** How many turns the event loop makes, and what the longest costs. Of CPU, as other processes may be at work. */
export function watchTurns() {
  let [count, longestMs, since, isOver] = [0, 0, process.cpuUsage(), false];
  const turn = () => {
    const { user, system } = process.cpuUsage(since);
    [count, longestMs, since] = [count + 1, Math.max(longestMs, (user + system) / 1_000), process.cpuUsage()];
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  return {
    stop() {
      isOver = true;
      turn();
      return { count, longestMs };
    },
  };
}
