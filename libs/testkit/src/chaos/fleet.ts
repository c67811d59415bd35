import { ServiceProcess } from '../service-process.js';

export type ServiceName = 'api' | 'connection' | 'sender';

interface Place {
  service: ServiceName;
  env: Record<string, string>;
  running: ServiceProcess;
  /** Something is being done to it: nothing else is, until that is over. */
  busy: boolean;
}

/** All processes of a gateway. Each has a place, and whoever dies is followed by another in the same place. */
export class Fleet {
  readonly places: Place[] = [];

  async add(service: ServiceName, env: Record<string, string>): Promise<void> {
    this.places.push({ service, env, running: await ServiceProcess.start(service, env), busy: false });
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

  private async replace(place: Place): Promise<void> {
    // A start during an outage of Redis fails; whoever runs services starts them again.
    for (let tries = 0; ; tries++) {
      try {
        place.running = await ServiceProcess.start(place.service, place.env);
        return;
      } catch (error) {
        if (tries === 10) throw error;
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
