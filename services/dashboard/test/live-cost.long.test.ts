import { sleep } from '@gateway/runtime/clock';
import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { createUser } from '@gateway/store/console/users';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { ensureDevice, renameDevice } from '@gateway/store/devices/devices';
import { eventually } from '@gateway/testkit/eventually';
import { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { type SmallRedis, startSmallRedis } from '@gateway/testkit/small-redis';
import { expect } from 'chai';
import { linkDevice } from '../../api/test/support/device-owner.js';
import { type LiveStream, openStream } from './support/live-stream.js';
import { makeSend } from './support/make-send.js';
import { Browser } from './support/test-dashboard.js';

const DEVICES = 1_000;
const TABS = 200;
const USERS = 5;
const MOST_BYTES = 50 * 1024 * 1024;
const ALL = 'devices,messages,overview.1';
/** Looked at each second, each two, and each three. What has a price per time needs a time: all are looked at in it, twice. */
const OFTEN = 'token.none,device.d1500,messages';
const SENDS = 20;
const WINDOW_MS = 6_600;
/** In which without a tab no more is asked than whether Redis is there. */
const IDLE_MS = 2_200;

describe('what open tabs cost the console', () => {
  let redis: SmallRedis;
  let process: ServiceProcess;
  /** A session has places for twenty tabs, a user for sixty. */
  const browsers: Browser[] = [];
  const open: LiveStream[] = [];
  before(async () => {
    redis = await startSmallRedis();
    const { store, prefix, url, keySettings } = redis.space;
    for (let index = 0; index < DEVICES; index++)
      await ensureDevice(store, { workspace: 'default', device: `d${1_000 + index}` });
    // With first words, which are in other keys than the list.
    const owner = await linkDevice(store, { workspace: 'default', device: 'd1001' });
    for (let send = 0; send < SENDS; send++) await makeSend(store, owner, { count: 2, text: 'hello' });
    for (let user = 0; user < USERS; user++) await createUser(store, `admin${user}`, 'admin');
    process = await ServiceProcess.start('dashboard', {
      ...keySettings,
      ...{ REDIS_URL: url, KEY_PREFIX: prefix, DASHBOARD_PORT: '0', OPS_PORT: '0' },
    });
    const { port } = await process.waitForLog(({ message }) => message === 'dashboard listens');
    for (let session = 0; session < 10; session++) {
      const browser = new Browser(Number(port));
      await browser.post('/sign-in/link', { secret: await createOneTimeLink(store, `admin${session % USERS}`) });
      browsers.push(browser);
    }
  });
  after(async () => {
    for (const stream of open) stream.close();
    await process?.stop();
    await redis.close();
  });

  const openTabs = async (count: number, topics: string) => {
    const streams = await Promise.all(
      Array.from({ length: count }, (_, i) => openStream(browsers[i % browsers.length]!, topics)),
    );
    open.push(...streams);
    const hasAll = (stream: LiveStream) =>
      new Set(stream.events.map(({ event }) => event)).size >= topics.split(',').length;
    await eventually(() => streams.every(hasAll));
    return streams;
  };
  const closeTabs = async () => {
    for (const stream of open.splice(0)) stream.close();
    await eventually(async () => /gateway_console_live_streams\S* 0$/m.test(await process.metrics()));
  };
  /** Commands of the console in the window: all but those of this test itself. */
  const countCommands = async (windowMs = WINDOW_MS) => {
    const read = async () => {
      const info = await redis.space.clients.commands.info('commandstats');
      const calls = [...info.matchAll(/^cmdstat_(?!info)\S+:calls=(\d+)/gm)].map(([, count]) => Number(count));
      return calls.reduce((sum, count) => sum + count, 0);
    };
    const before = await read();
    await sleep(windowMs);
    return (await read()) - before;
  };

  it('ten idle tabs cost Redis what one does, and none cost nothing', async () => {
    await openTabs(1, OFTEN);
    const one = await countCommands();
    await openTabs(9, OFTEN);
    const ten = await countCommands();
    await closeTabs();
    const none = await countCommands(IDLE_MS);
    // But for a look that was under way.
    expect(none).to.be.at.most(2);
    expect(one).to.be.above(3);
    // One of the looks more or less: ten times as much would be far above.
    expect(ten).to.be.below(2 * one);
  });

  it('two hundred tabs take 50 MB at most, and a change of one of a thousand devices is one frame of it', async () => {
    // Once, so that what is allocated for any number of tabs is there before.
    await openTabs(20, ALL);
    await closeTabs();
    const before = await residentBytes();
    const streams = await openTabs(TABS, ALL);
    const after = await residentBytes();
    expect(after - before).to.be.below(MOST_BYTES);

    const [first] = streams;
    const heard = first!.bytes();
    const address = { workspace: 'default', device: 'd1500' };
    await renameDevice(redis.space.store, address, 'Shop');
    await ringDoorbell(redis.space.store, { topic: 'observed', ...address });
    await eventually(() =>
      streams.every((stream) => stream.events.filter(({ event }) => event === 'devices').length > 1),
    );
    expect(first!.bytes() - heard).to.be.below(2_000);
    await closeTabs();
  });

  async function residentBytes(): Promise<number> {
    return Number(/^process_resident_memory_bytes\S* (\S+)$/m.exec(await process.metrics())![1]);
  }
});
