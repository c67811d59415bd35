import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A place under a limit of the kernel, as a container has it: what takes more memory is killed. Files on disk do not count. */
export interface MemoryBound {
  /** Begins a command line, and puts what follows, and all that it starts, under the limit. */
  prefix: readonly string[];
  /** How many processes were killed here for want of memory. */
  kills(): number;
  /** When all of them have ended. */
  remove(): void;
}

/** Where the two versions of control groups have what is needed. */
const VERSIONS = [
  { root: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes', events: 'memory.oom_control' },
  { root: '/sys/fs/cgroup', limit: 'memory.max', events: 'memory.events' },
];

let made = 0;

/** `undefined` where this machine does not let us: for want of rights, or without control groups. */
export function makeMemoryBound(bytes: number): MemoryBound | undefined {
  for (const { root, limit, events } of VERSIONS) {
    const folder = join(root, `gateway-test-${process.pid}-${++made}`);
    if (!tryTo(() => mkdirSync(folder))) continue;
    if (tryTo(() => writeFileSync(join(folder, limit), String(bytes), { flag: 'r+' }))) {
      return {
        prefix: ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"', join(folder, 'cgroup.procs')],
        kills: () => Number(/^oom_kill (\d+)/m.exec(readFileSync(join(folder, events), 'utf8'))?.[1]),
        remove: () => rmdirSync(folder),
      };
    }
    rmdirSync(folder);
  }
  return undefined;
}

function tryTo(act: () => void): boolean {
  try {
    act();
    return true;
  } catch {
    return false;
  }
}
