import { sleep } from '@gateway/runtime/clock';
import { ServiceProcess } from '../../processes/service-process.js';

export type ServiceName = 'api' | 'connection' | 'events' | 'sender';

export interface Place {
  service: ServiceName;
  env: Record<string, string>;
  running: ServiceProcess;
  /** Something is being done to it: nothing else is, until that is over. */
  busy: boolean;
}

/** As long as Redis may be away on a busy machine: services that cannot reach it fail at once. */
const MAX_STARTS = 40;
const RESTART_MS = 500;
/** More would only keep each other from being ready. */
const STARTS_AT_A_TIME = 4;

/** All processes of a gateway. Each has a place, and a dead one is replaced in the same place. */
export class Fleet {
  readonly places: Place[] = [];
  private isOver = false;

  /** @param logFolder gets the logs of all processes that there ever were, and what they wrote to stderr. */
  constructor(private readonly logFolder: string) {}

  /** A few at a time. Their places are in the order of `wanted`, whichever is ready first: a seed picks by it. */
  async start(wanted: readonly Pick<Place, 'service' | 'env'>[]): Promise<void> {
    for (let from = 0; from < wanted.length; from += STARTS_AT_A_TIME) {
      const starting = wanted.slice(from, from + STARTS_AT_A_TIME).map(async ({ service, env }) => {
        return { service, env, running: await this.startOne(service, env), busy: false };
      });
      const results = await Promise.allSettled(starting);
      // Those that are there are stopped by `close`, also when another one failed.
      this.places.push(...results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])));
      await Promise.all(starting);
    }
  }

  async kill(place: Place): Promise<void> {
    await this.whileBusy(place, async () => {
      await place.running.kill();
      await this.replace(place);
    });
  }

  async stop(place: Place): Promise<void> {
    await this.whileBusy(place, async () => {
      await place.running.stop();
      await this.replace(place);
    });
  }

  async freeze(place: Place, ms: number): Promise<void> {
    await this.whileBusy(place, async () => {
      place.running.signal('SIGSTOP');
      await new Promise((resolve) => setTimeout(resolve, ms));
      place.running.signal('SIGCONT');
    });
  }

  idle(): Place[] {
    return this.places.filter(({ busy }) => !busy);
  }

  /** Everything is up and left alone. */
  async settle(): Promise<void> {
    while (this.places.some(({ busy }) => busy)) await new Promise((resolve) => setTimeout(resolve, 50));
    for (const place of this.places) if (!place.running.isRunning) await this.replace(place);
  }

  /** Asks all to stop; answers with the pids that had to be killed. */
  async close(): Promise<number[]> {
    const stopped = await Promise.all(
      this.places.map(async ({ running }) => ({ pid: running.pid, stopped: await running.stop() })),
    );
    return stopped.filter((each) => !each.stopped).map(({ pid }) => pid);
  }

  /** Kills all that are still there, and starts no other. */
  async end(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.places.map(({ running }) => running.kill()));
  }

  private startOne(service: ServiceName, env: Record<string, string>): Promise<ServiceProcess> {
    return ServiceProcess.start(service, env, { logFolder: this.logFolder });
  }

  private async replace(place: Place): Promise<void> {
    // A start fails during an outage of Redis, or when its port was taken meanwhile: it is tried again.
    for (let tries = 0; !this.isOver; tries++) {
      try {
        place.running = await this.startOne(place.service, place.env);
        return this.isOver ? place.running.kill() : undefined;
      } catch (error) {
        if (tries === MAX_STARTS) throw error;
        await sleep(RESTART_MS);
      }
    }
  }

  private async whileBusy(place: Place, work: () => Promise<void>): Promise<void> {
    place.busy = true;
    try {
      await work();
    } finally {
      place.busy = false;
    }
  }
}
