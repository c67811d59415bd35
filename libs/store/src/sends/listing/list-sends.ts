import type { SendKind } from '@gateway/contracts/content/message-content';
import type { DeviceAddress, Workspace } from '@gateway/contracts/ids';
import { type SendStatus, sendStatus } from '@gateway/contracts/sends/statuses';
import type { Store } from '../../core/store.js';
import type { SendRecord } from '../read-send.js';
import { type ListPlace, type ListRange, readListed } from './listed-sends.js';
import { readListedSends } from './read-listed-sends.js';

export interface SendFilter extends ListRange {
  /** Only those that were accepted up to then. */
  untilMs?: number;
  statuses?: readonly SendStatus[];
  kind?: SendKind;
  /** Only those of this token. */
  owner?: string;
}

export interface FoundSend {
  address: DeviceAddress;
  send: SendRecord;
}

export interface SendPage {
  sends: FoundSend[];
  /** Where the next page begins; `undefined` at the end of the list. */
  next: ListPlace | undefined;
}

/** With a filter that few sends pass a page has fewer than it might, or none, and there is a next one all the same. */
const MOST_ROUNDS = 10;
const MOST_AT_ONCE = 250;

/** Sends of a workspace, the newest first, for as long as they are kept. Those of a version that only others know are left out. */
export async function listSends(
  store: Store,
  workspace: Workspace,
  { limit, ...filter }: SendFilter & { limit: number },
): Promise<SendPage> {
  const sends: (FoundSend & { place: ListPlace })[] = [];
  let range = startOf(filter);
  for (let round = 0; round < MOST_ROUNDS; round++) {
    // Most of what is listed is on the page, unless it is filtered.
    const atOnce = Math.min(MOST_AT_ONCE, limit * 2 ** round);
    const { listed, upTo } = await readListed(store, workspace, { ...range, limit: atOnce });
    const found = await readListedSends(store, listed, filter);
    sends.push(...found.filter(({ send }) => passes(send, filter)));
    if (sends.length > limit) return { sends: sends.slice(0, limit), next: sends[limit - 1]!.place };
    if (!upTo || sends.length === limit) return { sends, next: upTo };
    range = { ...range, before: upTo };
  }
  return { sends, next: range.before };
}

function startOf({ device, sinceMs, before, untilMs }: SendFilter): ListRange {
  const until = untilMs === undefined ? undefined : { ms: untilMs + 1, sequence: 0, shard: 0 };
  const first = before && until ? (before.ms < until.ms ? before : until) : (before ?? until);
  return {
    ...(device !== undefined && { device }),
    ...(sinceMs !== undefined && { sinceMs }),
    ...(first && { before: first }),
  };
}

function passes(send: SendRecord, { statuses }: SendFilter): boolean {
  return statuses === undefined || statuses.includes(sendStatus(send.counts));
}
