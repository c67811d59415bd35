import { type Device, NEW_DEVICE, step } from './device-model.js';
import { type ModelEvent, type News, TTL_STEP_MS } from './events.js';
import { mayBeHeard, type Send } from './send-model.js';

/** Chance picks numbers below this; mostly they choose among what makes a difference, and from here on among all. */
export const CHANCES = 12;
const MOSTLY = 10;
/** Of sends that make a difference, if not the open ones. */
const STAGES: Partial<Record<ModelEvent['do'], readonly Send['stage'][]>> = {
  report: ['open', 'closed'],
};

/** Points events made by chance at what is there, so that most of them can happen. What still cannot is left out. */
export function aimAll(events: readonly ModelEvent[]): ModelEvent[] {
  let device = NEW_DEVICE;
  const follow = (event: ModelEvent): ModelEvent[] => {
    const aimed = aim(device, event);
    const happened = aimed && step(device, aimed);
    if (!happened) return [];
    device = happened.device;
    return [aimed];
  };
  return events.flatMap((event) => [...before(device, event).flatMap(follow), ...follow(event)]);
}

function aim(device: Device, event: ModelEvent): ModelEvent | undefined {
  if (!('send' in event)) return event;
  const send = aimAtSend(device, event);
  if (send === undefined) return undefined;
  const found = device.sends[send]!;
  if (event.do === 'claim') return { ...event, send, ...aimClaim(found, event) };
  if (event.do === 'forgetPerson') {
    const people = found.recipients.flatMap(({ person }) => (person === 'forgotten' ? [] : [person]));
    return { ...event, send, person: choose(people, [event.person], event.person)! };
  }
  if (event.do !== 'report') return { ...event, send };
  const news = event.news.flatMap((each) => aimNews(found, each) ?? []);
  return news.length === 0 ? undefined : { ...event, send, news };
}

function aimAtSend({ sends }: Device, { do: name, send }: Extract<ModelEvent, { send: number }>): number | undefined {
  const all = [...sends.keys()];
  return choose(
    all.filter((index) => STAGES[name]?.includes(sends[index]!.stage) ?? sends[index]!.stage === 'open'),
    all,
    send,
  );
}

/** What must come first, or the event would change nothing. */
function before(device: Device, event: ModelEvent): ModelEvent[] {
  const { sends, nowMs, ownerships, keys } = device;
  if (event.do === 'expire') {
    const times = sends.filter(({ stage }) => stage === 'open').map(({ expiresAtMs }) => expiresAtMs);
    const ms = Math.min(...times) - nowMs;
    return times.length > 0 && ms > 0 ? [{ do: 'pass', ms }] : [];
  }
  if ((event.do === 'release' || event.do === 'renew') && event.ownership >= ownerships) {
    return [{ do: 'lapse' }, { do: 'acquire', ttlMs: TTL_STEP_MS }];
  }
  if (event.do !== 'releaseKey') return [];
  const { key, claim } = event;
  const missing = Math.max(0, claim + 1 - (keys[key]?.claims ?? 0));
  return Array.from({ length: missing }, (): ModelEvent[] => [
    { do: 'lapseKey', key },
    { do: 'claimKey', key },
  ]).flat();
}

/** Of several parts, the next that is missing. */
function aimClaim(
  { recipients }: Send,
  { recipient, part }: { recipient: number; part: number },
): { recipient: number; part: number } {
  const all = [...recipients.keys(), recipients.length];
  const queued = all.filter((index) => recipients[index]?.status === 'queued');
  const chosen = choose(queued, all, recipient)!;
  const parts = [...recipients[0]!.parts.keys()];
  const missing = parts.filter((index) => !recipients[chosen]?.parts[index]?.accepted).slice(0, 1);
  return { recipient: chosen, part: choose(missing, parts, part)! };
}

function aimNews(send: Send, news: News): News | undefined {
  const { recipients } = send;
  const all = [...recipients.keys(), recipients.length].flatMap((recipient) =>
    [...recipients[0]!.parts.keys()].map((part) => ({ ...news, recipient, part })),
  );
  const possible = all.filter((each) => mayBeHeard(send, each));
  const isAwaited = ({ recipient, part }: News) => recipients[recipient]?.parts[part]?.inFlight ?? false;
  const isLate = news.event === 'delivered' || news.event === 'read' || news.event === 'revoked';
  return choose(isLate ? possible : possible.filter(isAwaited), possible, news.recipient * 5 + news.part);
}

function choose<One>(fitting: readonly One[], all: readonly One[], chance: number): One | undefined {
  const among = fitting.length > 0 && chance % CHANCES < MOSTLY ? fitting : all;
  return among[chance % Math.max(among.length, 1)];
}
