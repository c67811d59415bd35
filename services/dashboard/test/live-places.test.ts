import { defaultPace } from '@gateway/contracts/devices/pace';
import { makeTopic } from '@gateway/dashboard/live/topics';
import { OverviewReader } from '@gateway/dashboard/views/overview';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { type LiveStream, openStream } from './support/live-stream.js';
import { type Browser, useTestDashboard } from './support/test-dashboard.js';

describe('places for live streams of the console', () => {
  const stage = useTestDashboard();
  const open: LiveStream[] = [];
  afterEach(() => {
    for (const stream of open.splice(0)) stream.close();
  });

  async function follow(browser: Browser, topics: string): Promise<number> {
    const stream = await openStream(browser, topics);
    open.push(stream);
    return stream.status;
  }

  /** Ten devices that no other stream follows. */
  const tenOf = (name: string) => Array.from({ length: 10 }, (_, number) => `device.${name}-${number}`).join();

  it('are twenty for a session, and one is free when a tab is closed', async () => {
    const [browser, other] = [await stage.dashboard.signIn(), await stage.dashboard.signIn()];
    for (let tab = 0; tab < 20; tab++) expect(await follow(browser, 'devices')).to.equal(200);
    expect(await follow(browser, 'devices')).to.equal(429);
    expect(await follow(other, 'devices')).to.equal(200);
    open[0]!.close();
    await eventually(async () => (await follow(browser, 'devices')) === 200);
  });

  it('have sixty topics for a session, 120 for a user and two hundred in all; what is followed already is open to all', async () => {
    const statuses: number[] = [];
    const browsers = [
      await stage.dashboard.signIn(),
      await stage.dashboard.signIn(),
      await stage.dashboard.signIn('viewer'),
    ];
    for (const [session, browser] of browsers.entries()) {
      for (let stream = 0; stream < 6; stream++) statuses.push(await follow(browser, tenOf(`s${session}-${stream}`)));
    }
    expect(new Set(statuses)).to.deep.equal(new Set([200]));
    expect(await follow(browsers[2]!, 'devices')).to.equal(429);
    expect(await follow(await stage.dashboard.signIn(), 'devices')).to.equal(429);
    const last = await stage.dashboard.signIn('operator');
    expect([await follow(last, tenOf('last-a')), await follow(last, tenOf('last-b'))]).to.deep.equal([200, 200]);
    expect(await follow(last, 'devices')).to.equal(503);
    expect(await follow(last, 'device.s0-0-0')).to.equal(200);
  });

  it('look seldom for what is not there', async () => {
    const { store } = stage.dashboard;
    const nowMs = () => Date.now();
    const overview = new OverviewReader({ store, workspace: 'main', nowMs });
    const pace = defaultPace(0);
    const topic = makeTopic('device.absent', { store, workspace: 'main', overview, nowMs, defaultPace: pace })!;
    expect(await topic.read(undefined)).to.equal(null);
    expect(topic.everyMs).to.be.at.least(10_000);
  });
});
