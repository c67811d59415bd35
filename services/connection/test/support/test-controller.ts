import { ConnectionController, type ControllerDeps } from '@gateway/connection/connection-controller';
import type { DesiredState, LinkMethod, ObservedState } from '@gateway/contracts/devices/device-state';
import { type DeviceAddress, type DeviceId, makeAttemptId } from '@gateway/contracts/ids';
import { deviceKeys, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { SessionKeeper } from '@gateway/fleet/session-keeper';
import { systemClock } from '@gateway/runtime/clock';
import { createLogger } from '@gateway/runtime/logs/logger';
import type { Simulator } from '@gateway/simulator/start-simulator';
import { DoorbellListener, ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { readDeviceState, requestLink, requestUnlink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import { eventually } from '@gateway/testkit/eventually';
import type { RedisSpace } from '@gateway/testkit/redis-space';
import { scanCodes } from '@gateway/testkit/scan-codes';

export interface ConnectionProcess {
  /** Waits until it has looked at every device, several times since now. */
  looksAtAll(): Promise<void>;
  stop(): Promise<void>;
}

/** The controller of a connection service in this process, so that a test can step in at any line. */
export async function startController(
  space: RedisSpace,
  simulator: Simulator,
  { senderWaitMs = 600_000, wrap = (keeper) => keeper }: Options = {},
): Promise<ConnectionProcess> {
  const { store } = space;
  const logger = createLogger({ service: 'test', level: 'error' });
  const subscriber = space.clients.subscriber.duplicate();
  const doorbells = await DoorbellListener.listen(subscriber, store.space);
  const keeper = new SessionKeeper({ store, clock: systemClock, logger, owner: makeAttemptId(), ttlMs: 2_000 });
  keeper.start();
  const controller = new ConnectionController({
    ...{ store, doorbells, logger, clock: systemClock, senderWaitMs },
    clientVersion: new ClientVersion({ store, logger, clock: systemClock }),
    keeper: wrap(keeper),
    endpoint: { url: simulator.socketUrl, trust: { kind: 'root', publicKey: rootKey(simulator) } },
    tickMs: 100,
    roundMs: 1_000,
  });
  return {
    looksAtAll: async () => {
      const from = controller.ticks;
      await eventually(() => controller.ticks >= from + 12, { what: 'twelve ticks' });
    },
    stop: async () => {
      await controller.stop();
      await keeper.stop();
      doorbells.close();
      subscriber.disconnect();
    },
  };
}

interface Options {
  senderWaitMs?: number;
  /** Stands between the controller and its ownerships. */
  wrap?: (keeper: ControllerDeps['keeper']) => ControllerDeps['keeper'];
}

/** One device, as the API asks for it and as the simulator's phones see it. */
export class TestDevice {
  readonly address;
  readonly keys;

  constructor(
    private readonly space: RedisSpace,
    private readonly simulator: Simulator,
    device: DeviceId,
    /** Digits of the phone that scans its codes. */
    readonly number: string,
  ) {
    this.address = { workspace: 'main', device };
    this.keys = deviceKeys(space.store.space, this.address);
  }

  read() {
    return readDeviceState(this.space.store, this.address);
  }

  /** Waits until what the user wants, and what the owner sees, are these. */
  async becomes(want: DesiredState['want'], observed: Partial<ObservedState> = {}): Promise<ObservedState> {
    let last: unknown;
    return eventually(
      async () => {
        const state = await this.read();
        last = state;
        const fits = Object.entries(observed).every(
          ([field, value]) => state.observed?.[field as keyof ObservedState] === value,
        );
        return state.desired?.want === want && fits && state.observed;
      },
      { what: `${want} ${JSON.stringify(observed)}` },
    ).catch((error: Error) => {
      throw new Error(`${error.message}; it is ${JSON.stringify(last)}`);
    });
  }

  async askToLink(options: { forceNew?: boolean; method?: LinkMethod } = {}): Promise<void> {
    const { forceNew = false, method = 'qrCode' } = options;
    await ensureDevice(this.space.store, this.address);
    const phone = method === 'pairingCode' ? { phone: this.number } : {};
    await requestLink(this.space.store, this.address, { attemptId: makeAttemptId(), method, forceNew, ...phone });
    await ringDoorbell(this.space.store, { topic: 'desired', ...this.address });
  }

  async askToUnlink(): Promise<void> {
    await requestUnlink(this.space.store, this.address, { attemptId: makeAttemptId() });
    await ringDoorbell(this.space.store, { topic: 'desired', ...this.address });
  }

  async nextCode(before?: string): Promise<string> {
    return eventually(
      async () => {
        const { observed } = await this.read();
        return observed?.code !== undefined && observed.code !== before && observed.code;
      },
      { what: 'a code' },
    );
  }

  scan(code: string, number = this.number) {
    const { adminUrl } = this.simulator;
    return scanCodes({ adminUrl, number, nextCode: (before) => this.nextCode(before) }, code);
  }

  /** From nothing to `linked`, without an owner. */
  async link(): Promise<void> {
    await this.askToLink();
    await this.scan(await this.nextCode());
    await this.becomes('linked');
    await eventually(async () => !(await this.read()).isOwned);
  }

  /** How many linked clients the phone lists. */
  get listedByPhone(): number {
    return this.simulator.network.accounts.find(this.number)?.devices.size ?? 0;
  }

  /** Names of the keys of an account that lie in Redis. */
  async keysLeft(): Promise<string[]> {
    const { base } = this.keys;
    const all = await this.space.clients.commands.keys(`${base.replaceAll(/[[\]?*]/g, '\\$&')}:*`);
    return all
      .map((key) => key.slice(base.length + 1))
      .filter((key) => /^(creds|keys:|key-buckets|contact-index)/.test(key));
  }
}

function rootKey({ rootPublicKeyHex }: Simulator): Buffer {
  return Buffer.from(rootPublicKeyHex, 'hex');
}

/** No process looks at a device any more. */
export async function takeOut({ redis, space }: Store, address: DeviceAddress): Promise<void> {
  const { workspace, device } = address;
  await redis.srem(workspaceKeys(space, workspace).devices, device);
  await redis.srem(shardKeys(space, shardOf(address)).devices, `${workspace}/${device}`);
}
