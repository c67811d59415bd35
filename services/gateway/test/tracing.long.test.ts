import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { type CollectedSpan, startTraceCollector, type TraceCollector } from '@gateway/testkit/tracing/trace-collector';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';
describe('traces of sends', () => {
  let collector: TraceCollector;
  const env: Record<string, string> = { OTEL_BSP_SCHEDULE_DELAY: '50' };
  before(async () => {
    collector = await startTraceCollector();
    env.OTEL_EXPORTER_OTLP_ENDPOINT = collector.endpoint;
  });
  const { gateway } = useGateway({ env });
  after(() => collector.close());

  const spansOf = (traceId: string, name: string) =>
    collector.spans.filter((span) => span.traceId === traceId && span.name === name);
  const sumOf = (spans: CollectedSpan[], field: string) =>
    spans.reduce((sum, { attributes }) => sum + Number(attributes[field] ?? 0), 0);

  it('lead from the request of the caller to the answer of the network, over all processes', async () => {
    await gateway.link('491700000901');
    const [to] = makeNumbers(1, 1) as [string];
    const headers = { traceparent: `00-${TRACE}-${CALLER}-01`, 'X-Request-Id': 'order-7' };
    const { body } = await gateway.call('POST', '/send', { body: { to, text: 'classified' }, headers });
    await gateway.waitForSend(body.messageId, { read: 1 });
    const [ack] = await eventually(() => spansOf(TRACE, 'ack').length > 0 && spansOf(TRACE, 'ack'));
    const one = (name: string) => {
      const found = spansOf(TRACE, name);
      expect(found, name).to.have.length(1);
      return found[0]!;
    };
    await eventually(() => spansOf(TRACE, 'POST /send').length === 1);
    const [http, accept, claim] = [one('POST /send'), one('accept'), one('claim')];
    expect(http.parentSpanId).to.equal(CALLER);
    expect(accept.parentSpanId).to.equal(http.spanId);
    expect([claim.parentSpanId, ack!.parentSpanId]).to.deep.equal([accept.spanId, accept.spanId]);
    expect([http, accept, claim, ack!].map(({ service }) => service)).to.deep.equal([
      ...['gateway-api', 'gateway-api', 'gateway-sender', 'gateway-sender'],
    ]);
    expect(http.attributes).to.include({ 'http.response.status_code': 202, 'gateway.request_id': 'order-7' });
    expect(ack!.attributes).to.include({ 'gateway.message_id': body.messageId, 'gateway.outcome.accepted': 1 });
    expect(accept.beganAtMs).to.be.within(http.beganAtMs, http.endedAtMs);
    expect(claim.endedAtMs).to.be.within(claim.beganAtMs, ack!.endedAtMs);
  });

  it('have a span for what happened to many recipients of a list, not for each', async () => {
    const numbers = makeNumbers(120, 2);
    const { body } = await gateway.call('POST', '/send', { body: { to: numbers, text: 'classified' } });
    const acks = await eventually(() => {
      const found = collector.spans.filter(
        ({ name, attributes }) => name === 'ack' && attributes['gateway.message_id'] === body.messageId,
      );
      return sumOf(found, 'gateway.messages') >= 120 && found;
    });
    expect(acks).to.have.length(2);
    expect(sumOf(acks, 'gateway.outcome.accepted')).to.equal(120);
    const { traceId } = acks[0]!;
    const claims = await eventually(() => {
      const found = spansOf(traceId, 'claim');
      return sumOf(found, 'gateway.messages') >= 120 && found;
    });
    // A claim that waited for too long is given back, and made again.
    expect(sumOf(claims, 'gateway.messages') - sumOf(claims, 'gateway.unused')).to.equal(120);
    expect(spansOf(traceId, 'accept')).to.have.length(1);
  });

  it('have no number, text or token, and no span for a trace that its caller does not sample', async () => {
    const unsampled = TRACE.replaceAll('0', '1');
    const headers = { traceparent: `00-${unsampled}-${CALLER}-00` };
    const json = { phone: makeNumbers(1, 3)[0]!, code: '918273' };
    const { body } = await gateway.call('POST', '/otp', { body: json, headers });
    const traced = await gateway.call('POST', '/otp', { body: { ...json, code: '645372' } });
    expect(traced.status, JSON.stringify(traced.body)).to.equal(200);
    await eventually(() => collector.bodies.some((text) => text.includes(traced.body.data.messageId)));
    await eventually(() => collector.spans.some(({ name }) => name === 'POST /otp'));
    const written = collector.bodies.join('\n');
    expect(written).not.to.include(unsampled);
    expect(written).not.to.include(body.data.messageId);
    const token = await gateway.tokenOf('default');
    for (const secret of ['classified', '918273', '645372', token, ...makeNumbers(120, 2), json.phone])
      expect(written).not.to.include(secret);
    expect(written).not.to.match(/4917000009/);
  });
});
