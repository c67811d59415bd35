import { createLogger } from '@gateway/runtime/logs/logger';
import { startTracing } from '@gateway/runtime/tracing/start-tracing';
import { SendSpans } from '@gateway/sender/reporting/send-spans';
import { startTraceCollector, type TraceCollector } from '@gateway/testkit/tracing/trace-collector';
import { expect } from 'chai';

type Sent = Parameters<SendSpans['claimed']>[0];
const AT_MS = 1_700_000_000_000;

describe('the spans of a send', () => {
  let collector: TraceCollector;
  let stop: () => Promise<void>;
  let nowMs: number;
  let spans: SendSpans;
  beforeEach(async () => {
    collector = await startTraceCollector();
    const logger = createLogger({ service: 'test', level: 'error' });
    const process = { name: 'sender', processId: 'sender-1', version: '1.2.3', logger };
    stop = await startTracing({ endpoint: collector.endpoint, ...process });
    nowMs = AT_MS;
    spans = new SendSpans({ nowMs: () => nowMs, monotonicMs: () => nowMs });
  });
  afterEach(() => collector.close());

  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  const send = (messageId: string, traced = true) =>
    ({ messageId, record: { requestId: 'r', kind: 'text', ...(traced && { trace }) } }) as Sent;
  const written = async () => {
    await stop();
    return collector.spans.map(({ name, beganAtMs, endedAtMs, attributes }) => {
      const counts = Object.entries(attributes).filter(([, value]) => typeof value === 'number');
      return [name, beganAtMs - AT_MS, endedAtMs - AT_MS, Object.fromEntries(counts)];
    });
  };

  it('are two for all recipients of a list, with counts of what the network answered', async () => {
    for (let recipient = 0; recipient < 50; recipient++) {
      nowMs += 10;
      spans.claimed(send('list'), nowMs - 5);
    }
    spans.claimed(send('list'), nowMs);
    spans.unused(send('list'));
    for (let recipient = 0; recipient < 50; recipient++) {
      nowMs += 1;
      spans.answered(send('list'), recipient < 48 ? 'accepted' : 'retryLater');
    }
    spans.claimed(send('not traced', false), nowMs);
    spans.end(send('list'));
    spans.writeAll();
    const outcomes = { 'gateway.outcome.accepted': 48, 'gateway.outcome.retry_later': 2 };
    expect(await written()).to.deep.equal([
      ['claim', 5, 500, { 'gateway.messages': 51, 'gateway.unused': 1 }],
      ['ack', 10, 550, { 'gateway.messages': 50, ...outcomes }],
    ]);
  });

  it('do not wait for the end of a long send, and have a hundred answers at most', async () => {
    spans.claimed(send('slow'), nowMs);
    nowMs += 59_999;
    spans.tick(nowMs);
    for (let answer = 0; answer < 101; answer++) spans.answered(send('fast'), 'accepted');
    nowMs += 1;
    spans.tick(nowMs);
    const told = (await written()).map(([name, , , counts]) => [
      name,
      (counts as Record<string, number>)['gateway.messages'],
    ]);
    expect(told).to.deep.equal([
      ['ack', 100],
      ['claim', 1],
    ]);
  });
});
