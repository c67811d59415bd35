import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { maskPhoneNumber } from '@gateway/contracts/people/phone-number';
import type { WebhookSettings } from '@gateway/contracts/webhooks/webhook';

type Hidden = Pick<WebhookSettings, 'content' | 'numbers'>;

/** An event without what its endpoint does not want to know: what people write, and most digits of their numbers. */
export function hideParts(event: GatewayEvent, { content, numbers }: Hidden): GatewayEvent {
  let { data } = event;
  if (content === 'none' && event.type === 'message.received') {
    const { type } = data.content as { type: string };
    data = { ...data, name: null, content: { type, text: null } };
  }
  return { ...event, data: numbers === 'masked' ? maskNumbers(data) : data };
}

function maskNumbers(data: GatewayEvent['data']): GatewayEvent['data'] {
  const masked: Record<string, unknown> = { ...data };
  for (const field of ['to', 'from', 'phone']) {
    if (typeof data[field] === 'string') masked[field] = mask(data[field] as string);
  }
  if (Array.isArray(data.phones)) masked.phones = (data.phones as string[]).map(mask);
  if (Array.isArray(data.changes)) {
    masked.changes = (data.changes as ChangeData[]).map((row) => ({
      ...row,
      to: row.to === null ? null : mask(row.to),
    }));
  }
  return masked;
}

function mask(person: string): string {
  return maskPhoneNumber(person);
}
