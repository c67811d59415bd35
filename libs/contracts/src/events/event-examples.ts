import { EVENT_DATA, type GatewayEvent } from './events.js';

/** What an example tells of. */
interface Story {
  /** ISO 8601. */
  at: string;
  /** 18 hex digits: in every id of it that must not come twice. */
  digits: string;
}

const SHORT = 'k3m9x2pq';
const PERSON = '447700900123';
const WEBHOOK = 'wh_0123456789abcdef';
const WORKSPACE_EVENTS = /^(?:optout|events|webhook)\./;

const changeOf = ({ at, digits }: Story, kind: 'text' | 'otp', status: string) => ({
  id: `evt_${SHORT}_${digits}_${status}`,
  ...{ device: 'default', messageId: `msg_${SHORT}0123456789abcdef`, requestId: 'order-2041' },
  ...{ kind, index: 0, to: PERSON, status },
  ...{ error: status === 'failed' ? 'not_on_messenger' : null, at, platformMessageIds: [`3EB0${digits}`] },
});
const send = { messageId: `msg_${SHORT}0123456789abcdef`, requestId: 'order-2041' };
const failing = (since: string) => ({ webhookId: WEBHOOK, since, lastStatus: 503 });

const OTHERS: Readonly<Record<string, (story: Story) => Record<string, unknown>>> = {
  'messages.updated': (story) => ({ changes: [changeOf(story, 'text', 'delivered')] }),
  'send.finished': () => ({
    ...{ ...send, recipients: 3 },
    counts: { queued: 0, sent: 1, delivered: 1, read: 0, failed: 1, expired: 0, cancelled: 0 },
  }),
  'message.received': ({ at, digits }) => ({
    ...{ platformMessageId: `3A${digits}`, from: PERSON, name: 'Ann', at },
    ...{ content: { type: 'text', text: 'Thank you!' }, replyTo: null },
  }),
  'device.connected': ({ at }) => ({ status: 'connected', phone: '447700900100', name: 'Shop', since: at }),
  'device.interrupted': () => ({ status: 'connecting', reason: 'network', notBefore: null }),
  'device.disconnected': ({ at }) => ({
    status: 'disconnected',
    reason: 'logged_out',
    since: at,
    phone: '447700900100',
  }),
  'device.restricted': () => ({ kind: 'new_chat_cap', until: null }),
  'device.unrestricted': () => ({}),
  'optout.added': () => ({ phones: [PERSON], source: 'reply' }),
  'optout.removed': () => ({ phones: [PERSON], source: 'api' }),
  'events.gap': () => ({ missing: 12 }),
  'webhook.test': () => ({ webhookId: WEBHOOK }),
  'webhook.failing': ({ at }) => ({ ...failing(at), disabledAt: at }),
  'webhook.recovered': ({ at }) => failing(at),
  'webhook.disabled': ({ at }) => failing(at),
};

/** An event of a type as it may come, with people and devices that no one has. @param type of `EVENT_DATA`. */
export function exampleOf(
  type: string,
  story: Story = { at: '2026-11-21T19:22:16.120Z', digits: '0F1E2D3C4B5A697887' },
): GatewayEvent {
  if (!(type in EVENT_DATA)) throw new Error(`there is no type ${type}`);
  const other = OTHERS[type];
  const [name, status = ''] = type.split('.');
  const data = other?.(story) ?? changeOf(story, name === 'otp' ? 'otp' : 'text', status);
  const id = other ? `evt_${SHORT}_${story.digits}_${status}` : String(data.id);
  const device = WORKSPACE_EVENTS.test(type) ? null : 'default';
  return { id, type, version: 1, timestamp: story.at, device, data };
}
