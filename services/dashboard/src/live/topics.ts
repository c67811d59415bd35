import { type OverviewHours, readOverviewHours } from '@gateway/contracts/console/overview';
import type { SendSummary, SendView } from '@gateway/contracts/console/send-views';
import { mayAct, type UserRole } from '@gateway/contracts/console/users';
import type { DeviceView } from '@gateway/contracts/console/views';
import type { WebhookPage, WebhookView } from '@gateway/contracts/console/webhook-views';
import type { Doorbell } from '@gateway/contracts/doorbell';
import { isDeviceId, parseMessageId } from '@gateway/contracts/ids';
import { listDevices } from '@gateway/store/devices/devices';
import { listSends } from '@gateway/store/sends/listing/list-sends';
import { findApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { type CommonDeps, readCommon, readDeviceView, readListedView, showTo } from '../views/device-view.js';
import type { OverviewReader } from '../views/overview.js';
import { findSend, readSendView, summarizeWithWords, withoutWords } from '../views/send-view.js';
import { describeToken } from '../views/token-view.js';
import { readWebhookPage, readWebhookViews, showPageTo, showWebhookTo } from '../views/webhook-view.js';
import type { Topic } from './topic.js';

export interface TopicDeps extends CommonDeps {
  nowMs: () => number;
  overview: OverviewReader;
}

/**
 * `overview.<hours>`, `devices`, `messages`, `device.<id>`, `send.<message id>`, `token.<key id>`,
 * `webhooks` and `webhook.<id>`; `undefined` for other names.
 */
export function makeTopic(name: string, deps: TopicDeps): Topic | undefined {
  const [kind, id, ...rest] = name.split('.');
  if (rest.length > 0) return undefined;
  const hours = kind === 'overview' ? readOverviewHours(id) : undefined;
  if (hours !== undefined) return overviewTopic(hours, deps);
  if (kind === 'devices' && id === undefined) return devicesTopic(deps);
  if (kind === 'device' && id !== undefined && isDeviceId(id)) return deviceTopic(id, deps);
  if (kind === 'messages' && id === undefined) return messagesTopic(deps);
  if (kind === 'send' && id !== undefined && parseMessageId(id)) return sendTopic(id, deps);
  if (kind === 'token' && id !== undefined) return tokenTopic(id, deps);
  if (kind === 'webhooks' && id === undefined) return webhooksTopic(deps);
  if (kind === 'webhook' && id !== undefined) return webhookTopic(id, deps);
  return undefined;
}

const BELLS: ReadonlySet<Doorbell['topic']> = new Set(['desired', 'observed', 'owner', 'sends']);

/** What is not there may come, but not without a doorbell. */
const ABSENT_MS = 15_000;

function deviceTopic(device: string, deps: TopicDeps): Topic {
  const { store, workspace } = deps;
  let isThere = true;
  return {
    role: 'viewer',
    get everyMs() {
      return isThere ? 2_000 : ABSENT_MS;
    },
    isRungBy: (bell) => bell.device === device && bell.workspace === workspace && BELLS.has(bell.topic),
    async read() {
      const view = await readDeviceView(store, { workspace, device }, await readCommon(deps));
      isThere = view !== undefined;
      return view ?? null;
    },
    show: (role, view) => view && showTo(role, view as DeviceView),
  };
}

/** Minutes are told when they are over; the first steps are looked for more often, where they are shown. */
function overviewTopic(hours: OverviewHours, { overview }: TopicDeps): Topic {
  return {
    role: 'viewer',
    everyMs: hours === 1 ? 5_000 : 30_000,
    isRungBy: () => false,
    read: () => overview.read(hours),
  };
}

/** A process that dies rings no bell: all are read again this often. */
const WHOLE_MS = 10_000;

/** All devices. With a doorbell only its device is read. */
function devicesTopic(deps: TopicDeps): Topic {
  const { store, workspace } = deps;
  const views = new Map<string, DeviceView>();
  return {
    role: 'viewer',
    everyMs: WHOLE_MS,
    isList: true,
    isRungBy: (bell) => bell.workspace === workspace && BELLS.has(bell.topic),
    async read(bells) {
      const isWhole = bells === undefined || bells.length === 0;
      const common = await readCommon(deps);
      const ids = isWhole ? await listDevices(store, workspace) : [...new Set(bells.map(({ device }) => device))];
      const found = await Promise.all(ids.map((device) => readListedView(store, { workspace, device }, common)));
      if (isWhole) views.clear();
      for (const [index, view] of found.entries()) {
        if (view) views.set(view.id, view);
        else views.delete(ids[index]!);
      }
      return [...views.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    show: (role: UserRole, all) => (all as DeviceView[]).map((view) => withoutCode(showTo(role, view))),
  };
}

/** Nothing but the page of a device shows its code, which is new every few seconds. */
function withoutCode({ link, ...view }: DeviceView): DeviceView {
  return link ? { ...view, link: { attemptId: link.attemptId, method: link.method } } : view;
}

/** The newest sends. */
function messagesTopic({ store, workspace }: TopicDeps): Topic {
  return {
    role: 'viewer',
    everyMs: 3_000,
    isRungBy: (bell) => bell.workspace === workspace && bell.topic === 'sends',
    read: async () => summarizeWithWords(store, (await listSends(store, workspace, { limit: 50 })).sends),
    show: (role, sends) => (mayAct(role, 'operator') ? sends : (sends as SendSummary[]).map(withoutWords)),
  };
}

/** How far a send is. Its recipients are read only when their counts have changed. */
function sendTopic(messageId: string, { store, workspace }: TopicDeps): Topic {
  let last: SendView | undefined;
  let isThere = true;
  return {
    role: 'viewer',
    get everyMs() {
      return isThere ? 1_000 : ABSENT_MS;
    },
    isRungBy: () => false,
    async read() {
      const found = await findSend(store, workspace, messageId);
      isThere = found !== undefined;
      if (!found) return null;
      const counts = JSON.stringify(found.send.counts);
      if (!last || JSON.stringify(last.counts) !== counts) last = await readSendView(store, found);
      return last;
    },
  };
}

/** Whether it was used yet: the page on which it was made shows that. */
function tokenTopic(keyId: string, { store, workspace, nowMs }: TopicDeps): Topic {
  return {
    role: 'admin',
    everyMs: 1_000,
    isRungBy: () => false,
    async read() {
      const token = await findApiToken(store, workspace, keyId);
      return token ? describeToken(token, nowMs()) : null;
    },
  };
}

/** All endpoints, of which a workspace has few. */
function webhooksTopic(deps: TopicDeps): Topic {
  return {
    role: 'viewer',
    everyMs: 5_000,
    isRungBy: () => false,
    read: () => readWebhookViews(deps),
    show: (role, all) => (all as WebhookView[]).map((view) => showWebhookTo(role, view)),
  };
}

function webhookTopic(id: string, deps: TopicDeps): Topic {
  let isThere = true;
  return {
    role: 'viewer',
    get everyMs() {
      return isThere ? 2_000 : ABSENT_MS;
    },
    isRungBy: () => false,
    async read() {
      const page = await readWebhookPage(deps, id);
      isThere = page !== null;
      return page;
    },
    show: (role, page) => page && showPageTo(role, page as WebhookPage),
  };
}
