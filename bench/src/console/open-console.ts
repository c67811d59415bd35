import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { profileSettings } from '../config.js';
import type { BenchContext } from '../support/benchmark.js';
import type { Stage } from '../support/stage.js';

/** What a tab that shows the first page, the devices and the sends follows. */
export const ALL_PAGES = 'devices,messages,overview.1';

/** The console of a stage, in a process of its own, as its pages see it. */
export interface OpenConsole {
  pid: number;
  origin: string;
  /** The cookie of a new session. */
  signIn(user?: string): Promise<string>;
  /** Follows topics as a tab does, from when each of them was told. @returns what closes it. */
  openTab(cookie: string, topics: string): Promise<() => void>;
  /** The answer of `GET /console/api` and this path. */
  get(cookie: string, path: string): Promise<Response>;
}

export async function openConsole(
  { lifecycle }: BenchContext,
  { space, simulator, gateway }: Stage,
): Promise<OpenConsole> {
  await createWorkspace(space.store, 'main');
  const console = await ServiceProcess.start('dashboard', {
    ...space.keySettings,
    ...profileSettings(),
    ...{ REDIS_URL: space.url, KEY_PREFIX: space.prefix, LOG_LEVEL: 'info' },
    ...{ DASHBOARD_PORT: '0', OPS_PORT: '0', DASHBOARD_WORKSPACE: 'main', API_URL: new URL(gateway.baseUrl).origin },
    ...{ MESSENGER_URL: simulator.socketUrl, MESSENGER_TRUST: `root:${simulator.rootPublicKeyHex}` },
  });
  lifecycle.add('console', async () => void (await console.stop()));
  const { port } = await console.waitForLog(({ message }) => message === 'dashboard listens');
  const origin = `http://127.0.0.1:${port}`;
  return {
    ...{ pid: console.pid, origin },
    async signIn(user = 'admin') {
      const secret = await createOneTimeLink(space.store, user);
      const answer = await fetch(`${origin}/console/api/sign-in/link`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin },
        body: JSON.stringify({ secret }),
      });
      if (!answer.ok) throw new Error(`the console answered ${answer.status}`);
      return answer.headers.getSetCookie()[0]!.split(';')[0]!;
    },
    async openTab(cookie, topics) {
      const tab = new AbortController();
      const answer = await ask(`/live?topics=${topics}`, cookie, tab.signal);
      const waiting = new Set(topics.split(','));
      void drain(answer, (text) => {
        for (const [, topic] of text.matchAll(/^event: (\S+)$/gm)) waiting.delete(topic!);
      });
      await eventually(() => waiting.size === 0, { what: `${topics} told` });
      return () => tab.abort();
    },
    get: (cookie, path) => ask(path, cookie),
  };

  async function ask(path: string, cookie: string, signal?: AbortSignal): Promise<Response> {
    const answer = await fetch(`${origin}/console/api${path}`, { headers: { cookie }, ...(signal && { signal }) });
    if (!answer.ok) throw new Error(`the console answered ${answer.status} to ${path}`);
    return answer;
  }
}

/** Until the tab is closed, or the console. */
async function drain(answer: Response, hear: (text: string) => void): Promise<void> {
  try {
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) hear(piece);
  } catch {
    // Closed: nothing is missing.
  }
}
