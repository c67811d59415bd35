import type { DeviceAddress } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/runtime/clock';
import { FencedError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '../core/store.js';
import { acquireLease, type Lease, releaseLease, renewLease } from './leases.js';

/** A lease in our hands. It is lost once, and never regained: a later one has another epoch. */
export interface HeldLease extends Lease {
  /** Throws `FencedError` once the lease may have passed to another process. Called right before each stanza. */
  assertHeld(): void;
  /** Aborts when the lease is lost or given back. */
  lost: AbortSignal;
}

interface Keeping {
  lease: Lease;
  /** Monotonic ms. Counted from before the renewal was sent: Redis counts the TTL from later, so we always end first. */
  validUntilMs: number;
  ended: AbortController;
}

/**
 * Holds the leases of one process: takes them, renews them all on one beat, and fences the process itself when its
 * renewals are late. A frozen process that wakes up finds its deadlines passed before it can write a stanza.
 */
export class LeaseKeeper {
  /** By device and epoch: epochs count per device, so the tokens of two devices may well be the same. */
  private readonly kept = new Map<string, Keeping>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly deps: { store: Store; clock: Clock; logger: Logger; owner: string; ttlMs: number }) {}

  start(): void {
    this.timer ??= setInterval(() => void this.renewAll(), this.deps.ttlMs / 4);
  }

  /** `undefined` when somebody else holds it. */
  async acquire(address: DeviceAddress): Promise<HeldLease | undefined> {
    const { store, clock, owner, ttlMs } = this.deps;
    const askedAtMs = clock.monotonicMs();
    const lease = await acquireLease(store, address, { owner, ttlMs });
    if (!lease) return undefined;
    const keeping = { lease, validUntilMs: askedAtMs + ttlMs, ended: new AbortController() };
    this.kept.set(nameOf(lease), keeping);
    return { ...lease, lost: keeping.ended.signal, assertHeld: () => this.assertHeld(keeping) };
  }

  /** Gives a lease back. Safe to repeat, and when Redis is away: it then ends by its TTL. */
  async release(lease: Lease): Promise<void> {
    this.end(lease);
    await releaseLease(this.deps.store, lease).catch((error: unknown) => {
      this.deps.logger.warn('lease not released, it ends by itself', { device: lease.address.device, error });
    });
  }

  /** Stops renewing. Leases that were not released end by their TTL. */
  stop(): void {
    clearInterval(this.timer);
    for (const { lease } of [...this.kept.values()]) this.end(lease);
  }

  private assertHeld(keeping: Keeping): void {
    if (!keeping.ended.signal.aborted && this.deps.clock.monotonicMs() < keeping.validUntilMs) return;
    this.end(keeping.lease);
    throw new FencedError({ step: 'deadline passed' });
  }

  private async renewAll(): Promise<void> {
    await Promise.all([...this.kept.values()].map((keeping) => this.renew(keeping)));
  }

  private async renew(keeping: Keeping): Promise<void> {
    const { store, clock, logger, ttlMs } = this.deps;
    const askedAtMs = clock.monotonicMs();
    if (askedAtMs >= keeping.validUntilMs) return this.end(keeping.lease);
    // A renewal that hangs while Redis is away must not keep us from noticing the deadline: checks go by the clock.
    const renewed = await renewLease(store, keeping.lease, ttlMs).catch(() => undefined);
    if (renewed) keeping.validUntilMs = askedAtMs + ttlMs;
    if (renewed === false) {
      logger.warn('lease lost', { device: keeping.lease.address.device, epoch: keeping.lease.epoch });
      this.end(keeping.lease);
    }
  }

  private end(lease: Lease): void {
    const name = nameOf(lease);
    const keeping = this.kept.get(name);
    this.kept.delete(name);
    keeping?.ended.abort();
  }
}

function nameOf({ address, token }: Lease): string {
  return `${address.workspace}/${address.device} ${token}`;
}
