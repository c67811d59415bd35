import { mayAct } from '@gateway/contracts/console/users';
import { KIND_CODES } from '@gateway/contracts/content/message-content';
import type { Workspace } from '@gateway/contracts/ids';
import { normalizePhoneNumber } from '@gateway/contracts/people/normalize-phone-number';
import { RECIPIENT_STATUSES, type SendStatus } from '@gateway/contracts/sends/statuses';
import type { Store } from '@gateway/store/core/store';
import { findByNetworkId } from '@gateway/store/sends/listing/find-by-network-id';
import { type FoundRecipient, findRecipient } from '@gateway/store/sends/listing/find-recipient';
import { CURSOR, fromCursor, toCursor } from '@gateway/store/sends/listing/list-cursor';
import { type FoundSend, listSends, type SendFilter } from '@gateway/store/sends/listing/list-sends';
import { readContent, readRecipients } from '@gateway/store/sends/read-send';
import Joi from 'joi';
import type { DashboardDeps } from '../dashboard-deps.js';
import { ConsoleError } from '../http/console-error.js';
import { type Call, checkQuery, operation } from '../http/operation.js';
import {
  describeContent,
  describeRecipient,
  findSend,
  readSendView,
  summarize,
  summarizeWithWords,
} from '../views/send-view.js';

const PAGE = 50;
const MOST_ROWS = 1_000;

interface ListQuery {
  device?: string;
  status?: SendStatus;
  kind?: NonNullable<SendFilter['kind']>;
  since?: number;
  until?: number;
  after?: string;
}

const listQuery = Joi.object<ListQuery>({
  device: Joi.string().pattern(/^[a-z0-9-]{1,40}$/),
  status: Joi.string().valid(...RECIPIENT_STATUSES, 'sending'),
  kind: Joi.string().valid(...Object.keys(KIND_CODES)),
  since: Joi.number().integer().min(0),
  until: Joi.number().integer().min(0),
  after: Joi.string().pattern(CURSOR),
});

/** All sends of the workspace, whichever token made them, the newest first. */
export const listMessages = operation({
  method: 'get',
  path: '/messages',
  for: 'viewer',
  async handle({ req, user }, { store, workspace }) {
    const { device, status, kind, since, until, after } = checkQuery(listQuery, req);
    const { sends, next } = await listSends(store, workspace, {
      limit: PAGE,
      ...(device !== undefined && { device }),
      ...(status !== undefined && { statuses: [status] }),
      ...(kind !== undefined && { kind }),
      ...(since !== undefined && { sinceMs: since }),
      ...(until !== undefined && { untilMs: until }),
      ...(after !== undefined && { before: fromCursor(after) }),
    });
    const messages = mayAct(user.role, 'operator') ? await summarizeWithWords(store, sends) : sends.map(summarize);
    return { body: { messages, next: next ? toCursor(next) : null } };
  },
});

/** The sends that went to a number, or that of which a phone has the id. Both are in the body: addresses of requests end up in logs of others. */
export const findMessages = operation<{ phone?: string; networkId?: string }>({
  method: 'post',
  path: '/messages/find',
  isRead: true,
  for: 'operator',
  body: Joi.object({ phone: Joi.string().max(60), networkId: Joi.string().max(60) }).xor('phone', 'networkId'),
  async handle({ body }, { store, workspace }) {
    const found = await find(store, workspace, body);
    const summaries = await summarizeWithWords(store, found);
    return { body: { messages: summaries.map((each, i) => ({ ...each, recipient: found[i]!.recipient })) } };
  },
});

async function find(
  store: Store,
  workspace: Workspace,
  { phone, networkId }: { phone?: string; networkId?: string },
): Promise<FoundRecipient[]> {
  if (networkId !== undefined) return findByNetworkId(store, workspace, networkId.toUpperCase());
  const number = normalizePhoneNumber(phone ?? '');
  if (number === undefined) throw new ConsoleError('invalid_request');
  return (await findRecipient(store, workspace, number)).found;
}

export const showMessage = operation({
  method: 'get',
  path: '/messages/:id',
  for: 'viewer',
  async handle(call, deps) {
    return { body: { message: await readSendView(deps.store, await findOf(call, deps)) } };
  },
});

/** What it says: for those who may send. */
export const showContent = operation({
  method: 'get',
  path: '/messages/:id/content',
  for: 'operator',
  async handle(call, deps) {
    const found = await findOf(call, deps);
    const stored = await readContent(deps.store, found.address, found.send.tag);
    return { body: { content: describeContent(found, stored?.content) } };
  },
});

const rowsQuery = Joi.object<{ at: string }>({
  at: Joi.string()
    .pattern(/^\d{1,5}(,\d{1,5})*$/)
    .required(),
});

/** Some of its recipients. Query: `at`, their places, 1,000 at most. */
export const listRecipients = operation({
  method: 'get',
  path: '/messages/:id/recipients',
  for: 'viewer',
  async handle(call, deps) {
    const places = checkQuery(rowsQuery, call.req).at.split(',').map(Number);
    if (places.length > MOST_ROWS) throw new ConsoleError('invalid_request');
    const { address, send } = await findOf(call, deps);
    const runs = toRuns(places).map(({ from, limit }) =>
      readRecipients(deps.store, address, send.tag, { from, limit }),
    );
    const rows = (await Promise.all(runs)).flat();
    return { body: { recipients: rows.map((row) => describeRecipient(row, call.user.role)) } };
  },
});

/** Cancels what has not gone out. */
export const cancelMessage = operation({
  method: 'post',
  path: '/messages/:id/cancel',
  for: 'operator',
  async handle(call, deps) {
    const { address, send } = await findOf(call, deps);
    const { user, requestId, signal } = call;
    await deps.api.call({
      ...{ user: user.name, device: address.device, requestId, signal },
      ...{ method: 'DELETE', path: `/messages/${send.messageId}` },
    });
    return { body: {}, audit: { action: 'message.cancelled', target: send.messageId } };
  },
});

/** Neighbours are read together. */
function toRuns(places: readonly number[]): { from: number; limit: number }[] {
  const runs: { from: number; limit: number }[] = [];
  for (const place of places) {
    const last = runs.at(-1);
    if (last && last.from + last.limit === place) last.limit++;
    else runs.push({ from: place, limit: 1 });
  }
  return runs;
}

async function findOf({ params }: Call<unknown>, { store, workspace }: DashboardDeps): Promise<FoundSend> {
  const found = await findSend(store, workspace, params.id ?? '');
  if (!found) throw new ConsoleError('not_found');
  return found;
}
