import { mayAct } from '@gateway/contracts/console/users';
import type { OptOutView } from '@gateway/contracts/console/views';
import { maskPhoneNumber } from '@gateway/contracts/people/phone-number';
import Joi from 'joi';
import type { DashboardDeps } from '../dashboard-deps.js';
import { ConsoleError } from '../http/console-error.js';
import { type Call, operation } from '../http/operation.js';
import { openCursor, sealCursor } from '../views/page-cursor.js';

const PAGE = 100;
/** Bytes of a number with its separators, times these, are within what the console takes as a body. */
const MOST_ADDED = 2_000;

interface Page {
  optOuts: OptOutView[];
  total: number;
  nextCursor: string | null;
}

/** A page of the list. Query: `after`, the `next` of the page before. */
export const listOptOuts = operation({
  method: 'get',
  path: '/opt-outs',
  for: 'viewer',
  async handle(call, deps) {
    const { cookieSecrets } = deps;
    const { after } = call.req.query;
    const cursor = typeof after === 'string' ? openCursor(after, cookieSecrets) : undefined;
    if (after !== undefined && cursor === undefined) throw new ConsoleError('invalid_request');
    const query = new URLSearchParams({ limit: String(PAGE), ...(cursor !== undefined && { cursor }) });
    const page = (await callApi(call, deps, { method: 'GET', path: `/opt-outs?${query}` })) as unknown as Page;
    const optOuts = mayAct(call.user.role, 'operator') ? page.optOuts : page.optOuts.map(mask);
    // A number can be read from the API's own cursor.
    const next = page.nextCursor === null ? null : sealCursor(page.nextCursor, cookieSecrets);
    return { body: { optOuts, total: page.total, next } };
  },
});

function mask({ phone, source, at }: OptOutView): OptOutView {
  return { phone: phone === null ? null : maskPhoneNumber(phone), source, at };
}

/** Half of a pair of surrogates has no place in a URL. */
const person = Joi.string()
  .max(60)
  .pattern(/^\P{Cs}*$/u)
  .required();

/** Whether one person is on the list. The number is in the body: addresses of requests end up in logs of others. */
export const findOptOut = operation<{ person: string }>({
  method: 'post',
  path: '/opt-outs/find',
  isRead: true,
  for: 'operator',
  body: Joi.object({ person }),
  async handle(call, deps) {
    const { success: _, ...found } = await callApi(call, deps, { method: 'GET', path: pathOf(call.body) });
    return { body: found };
  },
});

export const addOptOuts = operation<{ phones: string[] }>({
  method: 'post',
  path: '/opt-outs',
  for: 'operator',
  body: Joi.object({ phones: Joi.array().items(Joi.string().max(60)).min(1).max(MOST_ADDED).required() }),
  async handle(call, deps) {
    const json = { phone: call.body.phones };
    const { added, unchanged, duplicates } = await callApi(call, deps, { method: 'POST', path: '/opt-outs', json });
    return { body: { added, unchanged, duplicates }, audit: { action: 'opt_outs.added', target: String(added) } };
  },
});

export const liftOptOut = operation<{ person: string }>({
  method: 'post',
  path: '/opt-outs/lift',
  for: 'operator',
  body: Joi.object({ person }),
  async handle(call, deps) {
    const { removed } = await callApi(call, deps, { method: 'DELETE', path: pathOf(call.body) });
    return { body: { removed }, audit: { action: 'opt_out.lifted' } };
  },
});

function pathOf({ person: given }: { person: string }): string {
  return `/opt-outs/${encodeURIComponent(given)}`;
}

/** As one of the whole workspace: a token of one device may not see its list. */
function callApi(
  { user, requestId, signal }: Call<unknown>,
  { api }: DashboardDeps,
  what: { method: 'GET' | 'POST' | 'DELETE'; path: string; json?: unknown },
) {
  return api.call({ ...what, user: user.name, requestId, signal });
}
