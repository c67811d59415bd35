import type { AuditView } from '@gateway/contracts/console/views';
import type { Workspace } from '@gateway/contracts/ids';
import { listAudit as readPage } from '@gateway/store/console/audit';
import type { Store } from '@gateway/store/core/store';
import { ConsoleError } from '../http/console-error.js';
import { operation } from '../http/operation.js';

const PAGE = 50;
/** Of pages of the log that are read for one request: a filter that finds little goes on where it ended. */
const MOST_READ = 20;

interface Filter {
  workspace: Workspace;
  user: string | undefined;
  action: string | undefined;
}

/** What was done in 90 days, in this workspace or to the whole installation, the newest first. Query: `user`, `action`, and `before`, the `next` of the page before. */
export const listAudit = operation({
  method: 'get',
  path: '/audit',
  for: 'admin',
  async handle({ req }, { store, workspace }) {
    const [user, action, before] = ['user', 'action', 'before'].map((name) => textOf(req.query[name]));
    if (before !== undefined && !/^[1-9]\d{0,14}-\d{1,9}p?$/.test(before)) throw new ConsoleError('invalid_request');
    return { body: await find(store, { workspace, user, action }, before) };
  },
});

async function find(store: Store, filter: Filter, before: string | undefined) {
  const entries: AuditView[] = [];
  let next = before;
  for (let read = 0; read < MOST_READ; read++) {
    const page = await readPage(store, next === undefined ? {} : { before: next });
    for (const entry of page) {
      if (!isWanted(entry, filter)) continue;
      if (entries.length === PAGE) return { entries, next: entries.at(-1)!.id };
      entries.push(entry);
    }
    next = page.at(-1)?.id;
    if (next === undefined) break;
  }
  return { entries, next: next ?? null };
}

function isWanted(entry: AuditView, { workspace, user, action }: Filter): boolean {
  if (entry.workspace !== undefined && entry.workspace !== workspace) return false;
  return (user === undefined || entry.user === user) && (action === undefined || entry.action === action);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
