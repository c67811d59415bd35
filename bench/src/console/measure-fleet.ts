import { createUser } from '@gateway/store/console/users';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readResidentBytes } from '../support/process-usage.js';
import type { Stage } from '../support/stage.js';
import { percentile, rounded } from '../support/statistics.js';
import { ALL_PAGES, type OpenConsole } from './open-console.js';

const DEVICES = 1_000;
const TABS = 200;
/** A session has places for twenty tabs, a user for sixty. */
const USERS = 5;
const SESSIONS = 10;
const TRIES = 5;

/** A thousand devices with a send each: how long a page of the sends takes, and what two hundred tabs on all of it weigh. */
export async function measureFleet({ stage, open }: { stage: Stage; open: OpenConsole }) {
  const { store } = stage.space;
  const nowMs = Date.now();
  for (let index = 0; index < DEVICES; index++) {
    const address = { workspace: 'main', device: `many-${index}` };
    await ensureDevice(store, address);
    await acceptSend(store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['447700900123'] },
      ...{ owner: 'bench', requestId: 'bench', nowMs, expiresAtMs: nowMs + 3_600_000 },
    });
  }
  const pageMs = await pageThroughSends(open);
  return {
    sendsPageP95Ms: rounded(percentile(pageMs, 0.95)),
    tabsMb: rounded(await weighTabs(stage, open)),
  };
}

/** ms of each page, every one a few times. */
async function pageThroughSends(open: OpenConsole): Promise<number[]> {
  const cookie = await open.signIn();
  const times: number[] = [];
  let path = '/messages';
  for (let pages = 0; pages < DEVICES / 50; pages++) {
    let next = '';
    for (let attempt = 0; attempt < TRIES; attempt++) {
      const startMs = performance.now();
      ({ next } = (await (await open.get(cookie, path)).json()) as { next: string });
      times.push(performance.now() - startMs);
    }
    path = `/messages?after=${encodeURIComponent(next)}`;
  }
  return times;
}

async function weighTabs({ space: { store } }: Stage, open: OpenConsole): Promise<number> {
  const users = Array.from({ length: USERS }, (_, i) => `viewer-${i}`);
  for (const user of users) await createUser(store, user, 'viewer');
  const cookies = await Promise.all(Array.from({ length: SESSIONS }, (_, i) => open.signIn(users[i % USERS]!)));
  const openTabs = (count: number) =>
    Promise.all(Array.from({ length: count }, (_, i) => open.openTab(cookies[i % SESSIONS]!, ALL_PAGES)));
  // Once, so that what is allocated for any number of tabs is there before.
  for (const close of await openTabs(TABS / 10)) close();
  const before = readResidentBytes(open.pid);
  const tabs = await openTabs(TABS);
  const after = readResidentBytes(open.pid);
  for (const close of tabs) close();
  return (after - before) / 1024 / 1024;
}
