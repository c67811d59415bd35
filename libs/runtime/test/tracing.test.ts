import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { LogFields, Logger } from '@gateway/runtime/logs/logger';
import { beginPart, beginTrace } from '@gateway/runtime/tracing/spans';
import { startTracing } from '@gateway/runtime/tracing/start-tracing';
import { startTraceCollector } from '@gateway/testkit/tracing/trace-collector';
import { expect } from 'chai';

const PARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const WORK = { kind: 'server', fields: { 'http.route': '/send' } } as const;

describe('tracing', () => {
  let warnings: [string, LogFields | undefined][];
  const start = (endpoint: string) => {
    warnings = [];
    const logger = { warn: (...line: [string, LogFields?]) => void warnings.push([line[0], line[1]]) } as Logger;
    return startTracing({ endpoint, name: 'api', processId: 'api-1', version: '1.2.3', logger });
  };

  it('is off unless it is started: no work has a trace that could be kept', () => {
    expect(beginTrace('work', PARENT, WORK).trace).to.equal(undefined);
  });

  it('goes on with a trace that is sampled, begins one without a parent or with one that is none, and tells errors by name', async () => {
    const collector = await startTraceCollector();
    const stop = await start(collector.endpoint);
    for (const parent of [PARENT, undefined, 'nonsense', PARENT.replace(/01$/, '00')]) {
      beginTrace('work', parent, WORK).fail(new RangeError('classified'));
    }
    expect(beginPart('part', undefined, WORK).trace, 'of work that is not traced').to.equal(undefined);
    await stop();
    expect(beginTrace('work', PARENT, WORK).trace, 'afterwards').to.equal(undefined);
    await collector.close();
    const parents = collector.spans.map(({ parentSpanId, isError }) => [parentSpanId, isError]);
    expect(parents).to.deep.equal([
      ['b7ad6b7169203331', true],
      [undefined, true],
      [undefined, true],
    ]);
    expect(collector.bodies.join()).to.include('RangeError').and.not.to.include('classified');
    expect(warnings).to.deep.equal([]);
  });

  it('warns of a collector that refuses, once, and not with what it answers', async () => {
    const server = createServer((_req, res) => res.writeHead(400).end('classified'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const stop = await start(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    beginTrace('work', PARENT, WORK).end();
    await stop();
    server.close();
    expect(warnings.map(([sentence]) => sentence)).to.deep.equal(['spans not exported']);
    expect(warnings[0]![1]).to.include({ code: 400 });
    expect(JSON.stringify(warnings)).not.to.include('classified');
  });
});
