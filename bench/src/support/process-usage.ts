import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { readCpuMs } from '@gateway/testkit/processes/cpu-time';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';

export function cpuMsOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + readCpuMs(pid), 0);
}

/** What kinds of processes use from now on: each time it is asked, ms of CPU by kind, for each of so many messages. */
export function watchCpu(processes: Record<string, number[]>): (messages: number) => Record<string, number> {
  const now = () => Object.values(processes).map(cpuMsOf);
  const before = now();
  return (messages) => {
    const used = now().map((ms, i) => (ms - before[i]!) / messages);
    return Object.fromEntries(Object.keys(processes).map((kind, i) => [kind, used[i]!]));
  };
}

/** The process of a Redis server of this machine. */
export async function redisPid(url: string): Promise<number> {
  return Number(/^process_id:(\d+)/m.exec(String(await askServer(url, 'INFO', 'server')))![1]);
}

export function readResidentBytes(pid: number): number {
  return readMemory(pid, 'VmRSS');
}

/** The most that it was since the process began. */
export function readPeakBytes(pid: number): number {
  return readMemory(pid, 'VmHWM');
}

function readMemory(pid: number, name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * 1024;
}

const ESTABLISHED = '01';

/** Connections that a process has to a port, over IPv4. */
export function countConnections(pid: number, port: number): number {
  const inodes = new Set<string>();
  for (const line of readFileSync(`/proc/${pid}/net/tcp`, 'utf8').split('\n').slice(1)) {
    const [, , remote, state, , , , , , inode] = line.trim().split(/\s+/);
    const isThere = remote !== undefined && Number.parseInt(remote.split(':')[1]!, 16) === port;
    if (isThere && state === ESTABLISHED && inode !== undefined) inodes.add(`socket:[${inode}]`);
  }
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((fd) => inodes.has(readLink(`${folder}/${fd}`))).length;
}

/** Empty for one that was closed meanwhile. */
function readLink(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
