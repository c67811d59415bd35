import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { sleep } from '@gateway/runtime/clock';
import type { ServiceProcess } from '@gateway/testkit/processes/service-process';

const MEGABYTE = 1024 * 1024;
/** An option of Node: the process tells of turns of its event loop that are long. */
export const WATCH_TURNS = `--import=${new URL('../../fixtures/watch-turns.js', import.meta.url)}`;

/** Of the time: with more of it spent waiting for a processor, a delay says more of the machine than of the process. */
const QUIET_SHARE = 0.1;

/** What an attack did to a process, and to those who went on using it. */
export interface Harm {
  /** The longest time that a turn of the event loop held up all else. */
  loopDelayMs: number;
  /** The same by `monitorEventLoopDelay`, which counts the wait for a processor, too. */
  rawLoopDelayMs: number;
  /** Whether the machine let the process have one nearly always: `rawLoopDelayMs` then tells of the process. */
  isQuiet: boolean;
  /** The most memory that it took while it lasted, above what it had before. */
  memoryMb: number;
  /** Statuses of what others asked meanwhile, and how many answers had each. */
  neighbours: Record<string, number>;
  /** Without the time in which the process waited for a processor. */
  slowestNeighbourMs: number;
  /** With it. */
  rawNeighbourMs: number;
}

/** Asks `/status`, `/otp` and `/send` with a pool of tokens while an attack lasts, and measures what comes of it. */
export async function measureHarm(
  api: ServiceProcess,
  ask: (round: number) => Promise<{ status: number }>,
  attack: () => Promise<void>,
): Promise<Harm> {
  const linesBefore = api.logs.length;
  const idleMb = await readMemoryMb(api, 'VmRSS');
  await writeFile(`/proc/${api.pid}/clear_refs`, '5');
  const neighbours: Record<string, number> = {};
  let slowestNeighbourMs = 0;
  let rawNeighbourMs = 0;
  let isOver = false;
  const asked: Promise<void>[] = [];
  const askOne = async (round: number) => {
    const startedAt = performance.now();
    const waitedBefore = waitedMs(api);
    const { status } = await ask(round);
    neighbours[status] = (neighbours[status] ?? 0) + 1;
    const tookMs = performance.now() - startedAt;
    rawNeighbourMs = Math.max(rawNeighbourMs, tookMs);
    slowestNeighbourMs = Math.max(slowestNeighbourMs, tookMs - (waitedMs(api) - waitedBefore));
  };
  const askOn = async () => {
    for (let round = 0; !isOver || round < 6; round++) {
      asked.push(askOne(round));
      await sleep(50);
    }
  };
  const asking = askOn();
  await attack().finally(() => {
    isOver = true;
  });
  await asking;
  await Promise.all(asked);
  const peakMb = await readMemoryMb(api, 'VmHWM');
  return {
    loopDelayMs: longestTurnMs(api, linesBefore),
    ...readDelays(api, linesBefore),
    memoryMb: Math.max(0, peakMb - idleMb),
    neighbours,
    slowestNeighbourMs,
    rawNeighbourMs,
  };
}

/** For a processor, of the main thread; 0 on systems that do not tell. */
function waitedMs({ pid }: ServiceProcess): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** Of a process with `WATCH_TURNS`, as its log says from that line on; 0 when none was long. */
export function longestTurnMs({ logs }: ServiceProcess, fromLine: number): number {
  return logs.slice(fromLine).reduce((longest, { heldUpMs }) => Math.max(longest, Number(heldUpMs ?? 0)), 0);
}

/** Of a process with `WATCH_TURNS`: the longest delay of those that were told from that line on. */
export function readDelays({ logs }: ServiceProcess, fromLine: number): Pick<Harm, 'rawLoopDelayMs' | 'isQuiet'> {
  const said = logs.slice(fromLine).filter(({ message }) => message === 'loop delay');
  const sum = (field: string) => said.reduce((all, line) => all + Number(line[field]), 0);
  return {
    rawLoopDelayMs: said.reduce((longest, { delayMs }) => Math.max(longest, Number(delayMs)), 0),
    isQuiet: said.length > 0 && sum('waitedMs') < QUIET_SHARE * sum('ofMs'),
  };
}

/**
 * Ends a process that has more memory than a container would give it, where no kernel does. It is looked at, so that a
 * peak may be missed here: `memoryMb` has all of them. Processes that it starts are not counted.
 */
export function watchMemory(api: ServiceProcess, megabytes: number): () => void {
  const look = async () => {
    if (api.isRunning && (await readMemoryMb(api, 'VmRSS')) > megabytes) await api.kill();
  };
  // It may be gone by then.
  const timer = setInterval(() => void look().catch(() => {}), 50);
  return () => clearInterval(timer);
}

async function readMemoryMb(api: ServiceProcess, field: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${api.pid}/status`, 'utf8');
  const [, kilobytes] = new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status) ?? [];
  return (Number(kilobytes) * 1024) / MEGABYTE;
}
