import { type Device, NEW_DEVICE, step } from './device-model.js';
import type { ModelEvent, News } from './events.js';
import { mayBeHeard, type Send } from './send-model.js';

/** Chance picks numbers below this; mostly they choose among what makes a difference, and from here on among all. */
export const CHANCES = 12;
const MOSTLY = 10;

/** Points events made by chance at what is there, so that most of them can happen. What still cannot is left out. */
export function aimAll(events: readonly ModelEvent[]): ModelEvent[] {
  let device = NEW_DEVICE;
  return events.flatMap((event) => {
    const aimed = aim(device, event);
    const happened = aimed && step(device, aimed);
    if (!happened) return [];
    device = happened.device;
    return [aimed];
  });
}

function aim(device: Device, event: ModelEvent): ModelEvent | undefined {
  if (!('send' in event)) return event;
  const send = aimAtSend(device, event);
  if (send === undefined) return undefined;
  const found = device.sends[send]!;
  if (event.do === 'claim') return { ...event, send, ...aimClaim(found, event) };
  if (event.do !== 'report') return { ...event, send };
  const news = event.news.flatMap((each) => aimNews(found, each) ?? []);
  return news.length === 0 ? undefined : { ...event, send, news };
}

function aimAtSend({ sends }: Device, { do: name, send }: Extract<ModelEvent, { send: number }>): number | undefined {
  const all = [...sends.keys()];
  const isFit = name === 'open' ? 'accepting' : 'open';
  return choose(
    all.filter((index) => sends[index]!.stage === isFit),
    all,
    send,
  );
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
