import { parseNetworks } from '@gateway/egress/address-rules';
import { addEventsMetrics } from '@gateway/events/events-metrics';
import { Relay } from '@gateway/events/relay/relay';
import { systemClock } from '@gateway/runtime/clock';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { EventBells } from '@gateway/store/events/event-bells';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { Deliveries } from '@gateway/webhooks/deliveries';
import { expect } from 'chai';
import { useLoggedEndpoint } from '../../../libs/webhooks/test/support/use-logged-endpoint.js';

const PEOPLE = makeNumbers(10_000, 1);
const CODES = makeNumbers(20, 2);
const MOST_MS = 500;
/** As fast as a device gets: 40 people in the time that 40 messages take. */
const AT_ONCE = 40;
const PAUSE_MS = 50;

describe('one-time passwords beside a list of ten thousand', () => {
  const { space, stage, create, accept, record, rows } = useLoggedEndpoint();
  let isOver = false;

  /** All that runs in the events service. @returns how to end it. */
  async function start(): Promise<() => Promise<void>> {
    const { store, clients } = space;
    const metrics = addEventsMetrics(createMetrics());
    const relay = await Relay.start({ ...{ store, bells: clients.subscriber, metrics }, logger: silentLogger });
    const deliveries = new Deliveries({
      ...{ store, logger: silentLogger, counts: metrics, clock: systemClock, random: Math.random },
      owner: { processId: 'process-1', sessionMs: 60_000 },
      policy: { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
    });
    const bells = await EventBells.listen(clients.subscriber, store.space);
    bells.onAny((workspace, news) => deliveries.wake(workspace, news));
    const list = writeList();
    return async () => {
      isOver = true;
      bells.close();
      await Promise.all([list, relay.stop(), deliveries.close()]);
    };
  }
  async function writeList(): Promise<void> {
    const tag = await accept(PEOPLE);
    for (let from = 0; from < PEOPLE.length && !isOver; from += AT_ONCE) {
      for (const step of ['acked', 'delivered', 'read'] as const) await record(tag, step, from, from + AT_ONCE);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  it('are told of within half a second', async () => {
    await create();
    const end = await start();
    const late: number[] = [];
    stage.take = async ({ type, data }) => {
      if (type === 'otp.delivered') late.push(Date.now() - Date.parse(String(data.at)));
    };
    const p95 = async () => {
      late.length = 0;
      for (const [n, phone] of CODES.entries()) {
        await record(await accept([phone], 'otp'), 'delivered', 0, 1);
        await eventually(() => late.length > n);
      }
      return late.sort((a, b) => a - b)[Math.ceil(late.length * 0.95) - 1]!;
    };
    // What else the machine does only makes it longer.
    let best = Number.POSITIVE_INFINITY;
    try {
      for (let round = 0; round < 5 && best > MOST_MS; round++) best = Math.min(best, await p95());
    } finally {
      await end();
    }
    expect(best).to.be.at.most(MOST_MS);
    expect(rows().flat(), 'of the list').to.have.length.above(1_000);
  });
});
