import { readFileSync } from 'node:fs';

/** The kernel counts in hundredths of a second. */
const MS_PER_TICK = 10;

/** CPU that a process has used so far with all of its threads, in ms. Unlike the clock, it does not see what else the machine does. */
export function readCpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // After the name, which may hold anything: fields 14 and 15 of the manual are user and system time.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK;
}
