import { OVERVIEW_SPANS, type Overview, type OverviewHours } from '@gateway/contracts/console/overview';
import type { Workspace } from '@gateway/contracts/ids';
import { sumActivity } from '@gateway/contracts/sends/activity';
import type { Store } from '@gateway/store/core/store';
import { findOverdue, type OverdueSends } from '@gateway/store/sends/listing/find-overdue';
import { listSends } from '@gateway/store/sends/listing/list-sends';
import { type Activity, type FinishedHours, readActivity } from '@gateway/store/sends/listing/read-activity';
import { listApiTokens } from '@gateway/store/workspace/tokens/api-tokens';

const MINUTE_MS = 60_000;
/** A promise is a reckoning: a send that is a minute late is none to look after. */
const GRACE_MS = MINUTE_MS;

interface OverviewDeps {
  store: Store;
  workspace: Workspace;
  nowMs: () => number;
}

/** One per process: of a week, only what is new in it is read again, and once for all who ask at the same time. */
export class OverviewReader {
  readonly #finished: FinishedHours = new Map();
  readonly #reading = new Map<OverviewHours, Promise<Overview>>();

  constructor(private readonly deps: OverviewDeps) {}

  read(hours: OverviewHours): Promise<Overview> {
    const known = this.#reading.get(hours);
    if (known) return known;
    const reading = this.#read(hours).finally(() => this.#reading.delete(hours));
    this.#reading.set(hours, reading);
    return reading;
  }

  async #read(hours: OverviewHours): Promise<Overview> {
    const { store, workspace } = this.deps;
    const nowMs = this.deps.nowMs();
    const barMs = OVERVIEW_SPANS[hours] * MINUTE_MS;
    // Bars begin at round times, so that they stay what they are while time goes on; the last one is that of now.
    const fromMs = (Math.floor(nowMs / barMs) + 1) * barMs - hours * 60 * MINUTE_MS;
    const [activity, tokens, { sends }, overdue] = await Promise.all([
      readActivity(store, workspace, { fromMs, toMs: nowMs + MINUTE_MS }, this.#finished),
      listApiTokens(store, workspace),
      listSends(store, workspace, { limit: 1 }),
      findOverdue(store, workspace, nowMs - GRACE_MS),
    ]);
    return {
      ...{ hours, failures: activity.failures, bars: toBars(activity.minutes, OVERVIEW_SPANS[hours]) },
      overdue: describeOverdue(overdue),
      steps: { hasToken: tokens.length > 0, hasSent: sends.length > 0 },
    };
  }
}

function toBars(minutes: Activity['minutes'], size: number): Overview['bars'] {
  const bars: Overview['bars'] = [];
  for (let from = 0; from < minutes.length; from += size) {
    bars.push({ ...sumActivity(minutes.slice(from, from + size)), atMs: minutes[from]!.atMs });
  }
  return bars;
}

function describeOverdue({ count, oldest }: OverdueSends): Overview['overdue'] {
  if (!oldest) return { count };
  const { address, send, promisedMs } = oldest;
  return { count, oldest: { messageId: send.messageId, device: address.device, promisedMs } };
}
