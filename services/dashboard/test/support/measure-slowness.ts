import { createHmac } from 'node:crypto';

/** What a part of the work takes on a slow machine on which the overview shows in time: two cores, Node 20. */
const USUAL_MS = 6;
const PARTS = 5;
const OBJECT = { list: Array.from({ length: 200 }, (_, at) => ({ at, name: `entry ${at}` })) };

/**
 * How many times as long as usual this machine takes now for work of crypto and JavaScript, in CPU time; at least 1.
 * Other work makes it slower although it takes no turns from it: cores, caches and the host are shared.
 */
export function measureSlowness(): number {
  // Until it is compiled.
  for (let part = 0; part < 2 * PARTS; part++) work();
  const from = process.cpuUsage();
  for (let part = 0; part < PARTS; part++) work();
  const { user, system } = process.cpuUsage(from);
  return Math.max(1, (user + system) / 1_000 / PARTS / USUAL_MS);
}

function work(): void {
  for (let round = 0; round < 1_000; round++) createHmac('sha256', 'key').update(`${round}`).digest();
  for (let round = 0; round < 60; round++) JSON.parse(JSON.stringify(OBJECT));
}
