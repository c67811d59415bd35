import { type DeviceAddress, shortDeviceId, type Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { readFullestNode } from '../core/capacity.js';
import { defineScript, number, text } from '../core/scripts/define-script.js';
import { isOne } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';

const noteStep = defineScript({
  name: 'note-received-bytes',
  whenFull: 'runs',
  keys: ['receivedBytes', 'shortIds'],
  args: { device: text, short: text, noted: text, keptMs: number },
  reply: isOne,
});

/** Of what people wrote, with all that Redis needs for it. */
export const MOST_BYTES_OF_DEVICE = 32 * 1024 * 1024;
/** Of `maxmemory`, for all devices of a workspace; on a Redis Cluster that of one node. */
const WORKSPACE_SHARE = 0.05;
const MS_PER_HOUR = 60 * 60 * 1000;
/** As long as messages are kept. */
const COUNTED_HOURS = 7 * 24;
const KNOWN_MS = 10_000;

const shares = new WeakMap<Store, InboundShares>();

/** One for all devices that write through this store. */
export function inboundSharesOf(store: Store): InboundShares {
  const known = shares.get(store) ?? new InboundShares(store);
  shares.set(store, known);
  return known;
}

interface Known {
  sinceMs: number;
  /** Of the devices of a workspace. */
  bytes: ReadonlyMap<string, number>;
  limitBytes: number;
}

/**
 * How much each device of this process may keep of what people write. The devices of a workspace lie in several slots of a
 * Cluster, so no step can count them together: each process writes down what its own have, at most every ten seconds,
 * and reads what all have. When a workspace has too much, each of its devices has to come down to the same part of it.
 */
class InboundShares {
  private readonly known = new Map<Workspace, Promise<Known>>();
  private readonly notedAtMs = new Map<string, number>();

  constructor(private readonly store: Store) {}

  /** At least what one message may have. */
  async mostBytesOf({ workspace, device }: DeviceAddress, nowMs: number): Promise<number> {
    const { bytes, limitBytes } = await this.read(workspace, nowMs);
    const total = [...bytes.values()].reduce((sum, each) => sum + each, 0);
    if (limitBytes === 0 || total <= limitBytes) return MOST_BYTES_OF_DEVICE;
    const own = bytes.get(device) ?? limitBytes / (bytes.size + 1);
    return Math.min(MOST_BYTES_OF_DEVICE, Math.floor((limitBytes * own) / total));
  }

  async note({ workspace, device }: DeviceAddress, { bytes, nowMs }: { bytes: number; nowMs: number }): Promise<void> {
    const name = `${workspace}/${device}`;
    if (Math.abs(nowMs - (this.notedAtMs.get(name) ?? 0)) < KNOWN_MS) return;
    this.notedAtMs.set(name, nowMs);
    const { receivedBytes, shortDeviceIds: shortIds } = workspaceKeys(this.store.space, workspace);
    const noted = `${bytes}/${Math.floor(nowMs / MS_PER_HOUR)}`;
    const keptMs = COUNTED_HOURS * MS_PER_HOUR;
    await noteStep(this.store, {
      ...{ receivedBytes, shortIds, device, short: shortDeviceId({ workspace, device }) },
      ...{ noted, keptMs },
    });
  }

  private async read(workspace: Workspace, nowMs: number): Promise<Known> {
    const before = await this.known.get(workspace);
    if (before && Math.abs(nowMs - before.sinceMs) < KNOWN_MS) return before;
    const reading = this.load(workspace, nowMs);
    this.known.set(workspace, reading);
    reading.catch(() => this.known.delete(workspace));
    return reading;
  }

  private async load(workspace: Workspace, nowMs: number): Promise<Known> {
    const [noted, { limitBytes }] = await Promise.all([
      this.store.redis.hgetall(workspaceKeys(this.store.space, workspace).receivedBytes),
      readFullestNode(this.store),
    ]);
    const bytes = new Map<string, number>();
    for (const [device, value] of Object.entries(noted)) {
      const [count, hour] = value.split('/').map(Number) as [number, number];
      if (nowMs / MS_PER_HOUR - hour < COUNTED_HOURS) bytes.set(device, count);
    }
    return { sinceMs: nowMs, bytes, limitBytes: limitBytes * WORKSPACE_SHARE };
  }
}
