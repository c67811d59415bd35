import type { GatewayEvent } from '@gateway/contracts/events/events';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { expect } from 'chai';
import { useAwayDevices } from '../../store/test/support/use-away-devices.js';
import { useLoggedEndpoint } from './support/use-logged-endpoint.js';

const PEOPLE = Array.from({ length: 20 }, (_, i) => `49151123${40_000 + i}`);
const SENT = { types: ['message.sent', 'optout.added'] };

const said = ({ device, type, data: { index = '' } }: GatewayEvent) =>
  `${device} ${type.split('.')[1]} ${index}`.trim();

describe('what a webhook has failed to take, while a node of Redis is away', () => {
  const { space, stage, create, useDevice } = useLoggedEndpoint();
  const away = useAwayDevices(space);
  const told = () => stage.events.map(said);
  let b: Awaited<ReturnType<typeof useDevice>>;
  beforeEach(async () => {
    b = await useDevice('b');
  });

  /** Of the endpoint, and as if time had passed. */
  async function tell(run: () => Promise<string>, times = 1) {
    for (let i = 0; i < times; i++) {
      stage.aheadMs += 61_000;
      await run();
    }
  }

  it('is told later with what is of no device, where that came with it', async () => {
    const run = await create({ ...SENT, concurrency: 5 });
    const ofB = await b.accept(PEOPLE.slice(0, 1));
    const optOut = (number: string) =>
      addOptOuts(space.store, 'main', { numbers: [number], source: 'api', atMs: Date.now() });
    await optOut('447700900001');
    await b.record(ofB, 'acked', 0, 1);
    stage.status = 500;
    await run();
    stage.status = 200;
    away.add('b');
    await optOut('447700900002');
    await tell(run, 2);
    expect(told()).to.deep.equal([]);
    away.clear();
    await tell(run, 2);
    expect(told().sort()).to.deep.equal(['b sent 0', 'null added', 'null added']);
    const people = stage.events.filter(({ device }) => device === null).map(({ data }) => JSON.stringify(data));
    expect(people.map((each) => /44770090000\d/.exec(each)![0])).to.deep.equal(['447700900001', '447700900002']);
  });
});
