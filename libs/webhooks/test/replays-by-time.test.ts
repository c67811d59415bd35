import { EVENT_ENTRY_VERSION } from '@gateway/contracts/events/entry';
import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { endOfLog } from '@gateway/store/events/read-log';
import { boundLog } from '@gateway/store/events/relay-outbox';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { listAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { expect } from 'chai';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

describe('what happened in a time, told to a webhook once more', () => {
  const logged = useLoggedEndpoint();
  const { space, stage } = logged;
  let people = 0;
  const replay = (id: string, afterMs: number, beforeMs: number) =>
    replayWebhook(space.store, { workspace: 'main', id }, { afterMs, beforeMs }, Date.now());
  /** One change, so long ago; when, as its event says. */
  const letHappen = async (agoMs: number): Promise<number> => {
    stage.aheadMs = -agoMs;
    const tag = await logged.accept([`4477009${String(10_000 + people++)}`]);
    const nowMs = Date.now() - agoMs;
    await logged.record(tag, 'acked', 0, 1);
    stage.aheadMs = 0;
    return nowMs;
  };
  /** As if it were there since yesterday. */
  const create = async () => {
    const tell = await logged.create();
    const lane = JSON.stringify({ cursor: (await endOfLog(space.store, 'main')).entry });
    const since = { createdAtMs: Date.now() - 24 * HOUR_MS, 'lane:prompt': lane, 'lane:lists': lane };
    await space.store.redis.hset(workspaceKeys(space, 'main').webhook(tell.id), since);
    return tell;
  };
  const numbersOf = (events: readonly GatewayEvent[]) =>
    events.flatMap(({ data }) => (data.changes as ChangeData[] | undefined)?.map(({ to }) => to) ?? []);

  it('is what happened then, however late it came into the log, and nothing that came into it then', async () => {
    const tell = await create();
    await letHappen(0);
    await logged.relay();
    await letHappen(3 * HOUR_MS);
    const fromMs = await letHappen(HOUR_MS);
    await letHappen(HOUR_MS - MINUTE_MS);
    await tell();
    const told = numbersOf(stage.events);
    expect(told).to.have.length(4);
    stage.events.length = 0;
    const around = [fromMs - MINUTE_MS, fromMs + 2 * MINUTE_MS] as const;
    expect(await replay(tell.id, ...around)).to.deep.equal({ unknown: [] });
    await letHappen(0);
    await logged.relay();
    expect(await replay(tell.id, ...around), 'the same again').to.deep.equal({ unknown: [] });
    await tell();
    expect(numbersOf(stage.events).filter((to) => told.includes(to))).to.deep.equal(told.slice(2));
    const [{ timestamp }] = stage.events.filter((event) => numbersOf([event]).includes(told[2]!)) as [GatewayEvent];
    stage.events.length = 0;
    await replay(tell.id, Date.parse(timestamp), Date.parse(timestamp) + 1);
    await replay(tell.id, Date.parse(timestamp) - MINUTE_MS, Date.parse(timestamp));
    await tell();
    expect(numbersOf(stage.events), 'to the millisecond').to.deep.equal([told[2]]);
  });

  it('comes as a request that can be told again as it was', async () => {
    const tell = await create();
    await letHappen(2 * HOUR_MS);
    const fromMs = await letHappen(HOUR_MS);
    await letHappen(2 * HOUR_MS);
    await letHappen(HOUR_MS - 1_000);
    await tell();
    stage.events.length = 0;
    await replay(tell.id, fromMs - MINUTE_MS, fromMs + MINUTE_MS);
    await tell();
    const requests = stage.events.map(({ id }) => id);
    const attempts = await listAttempts(space.store, 'main', tell.id, requests.length);
    expect(attempts.map(({ webhookId }) => webhookId)).to.have.members(requests);
    const again = await replayWebhook(space.store, { workspace: 'main', id: tell.id }, { ids: requests }, Date.now());
    expect(again).to.deep.equal({ unknown: [] });
    await tell();
    const bodies = stage.events.map((event) => JSON.stringify(event));
    expect(bodies.slice(requests.length)).to.have.members(bodies.slice(0, requests.length));
  });

  it('costs no look at what came into the log long after it', async () => {
    const tell = await create();
    const fromMs = await letHappen(0);
    await logged.relay();
    const { eventLog, webhook } = workspaceKeys(space, 'main');
    const { redis } = space.store;
    const later = `for n = 1, 1000 do redis.call('XADD', KEYS[1], ARGV[1] .. '-' .. n, 'e', ARGV[2]) end`;
    await redis.eval(later, 1, eventLog, fromMs + 2 * HOUR_MS, Buffer.from([EVENT_ENTRY_VERSION, 1, 1, 1, 1, 1, 1, 0]));
    const lane = JSON.stringify({ cursor: (await endOfLog(space.store, 'main')).entry });
    await redis.hset(webhook(tell.id), { 'lane:prompt': lane, 'lane:lists': lane });
    await replay(tell.id, fromMs - MINUTE_MS, fromMs + 1_000);
    const read = redis.xrangeBuffer.bind(redis) as (...args: unknown[]) => Promise<[Buffer, unknown][]>;
    const ids: string[] = [];
    const note = async (...args: unknown[]) => {
      const rows = await read(...args);
      ids.push(...rows.map(([id]) => id.toString()));
      return rows;
    };
    Object.assign(redis, { xrangeBuffer: note });
    await tell();
    expect(numbersOf(stage.events)).to.have.length(1);
    expect(await redis.exists(workspaceKeys(space, 'main').webhookReplays(tell.id))).to.equal(0);
    expect(ids.filter((id) => Number.parseInt(id, 10) > fromMs + HOUR_MS).length, 'what is read ahead').to.be.below(
      500,
    );
  });

  it('is in order, while what happens meanwhile is told at once', async () => {
    const tell = await create();
    const fromMs = await letHappen(HOUR_MS);
    for (let n = 4; n > 0; n--) await letHappen(n * MINUTE_MS);
    await tell();
    const told = numbersOf(stage.events);
    stage.events.length = 0;
    await replay(tell.id, fromMs + MINUTE_MS, Date.now() - MINUTE_MS / 2);
    await letHappen(0);
    await tell();
    const again = numbersOf(stage.events);
    expect(again.filter((to) => told.includes(to))).to.deep.equal(told.slice(1));
    const fresh = again.findIndex((to) => !told.includes(to));
    expect(fresh, 'not behind all that is told again').to.be.within(0, 2);
  });

  it('is no loss where the time begins before the first event that was wanted, or that is still kept', async () => {
    const tell = await create();
    await letHappen(0);
    await tell();
    await replay(tell.id, Date.now() - 48 * HOUR_MS, Date.now() + MINUTE_MS);
    await tell();
    expect(numbersOf(stage.events)).to.have.length(2);
    await letHappen(0);
    await tell();
    await boundLog(space.store, 'main', 1);
    await replay(tell.id, Date.now() - 48 * HOUR_MS, Date.now() + MINUTE_MS);
    await tell();
    expect(stage.events.map(({ type }) => type)).not.to.include('events.gap');
    expect(stage.gaps).to.deep.equal([]);
  });
});
