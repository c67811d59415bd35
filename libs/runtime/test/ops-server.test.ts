import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect } from 'node:net';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { type OpsServer, type OpsServerOptions, startOpsServer } from '@gateway/runtime/process/ops-server';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { Gauge } from 'prom-client';

describe('the ops server', () => {
  let server: OpsServer | undefined;
  afterEach(() => server?.close());

  async function start(options: Partial<OpsServerOptions> = {}) {
    const logger = createLogger({ service: 'test', level: 'error' });
    server = await startOpsServer({
      host: '127.0.0.1',
      port: 0,
      registry: createMetrics({ processMetrics: false }),
      checks: {},
      logger,
      ...options,
    });
    const base = `http://127.0.0.1:${server.port}`;
    return async (path: string) => {
      const response = await fetch(base + path);
      return { status: response.status, text: await response.text() };
    };
  }

  it('is alive as soon as it listens', async () => {
    const get = await start({ checks: { redis: () => Promise.reject(new Error('away')) } });
    expect((await get('/livez')).status).to.equal(200);
  });

  it('is ready when every check passes', async () => {
    const get = await start({ checks: { redis: () => {}, queue: async () => {} } });
    const { status, text } = await get('/readyz');
    expect(status).to.equal(200);
    expect(JSON.parse(text)).to.deep.equal({ ready: true, checks: { redis: 'ok', queue: 'ok' } });
  });

  it('names the check that fails, thrown or rejected', async () => {
    const get = await start({
      checks: {
        redis: () => Promise.reject(new Error('away')),
        queue: () => {
          throw new Error('full');
        },
      },
    });
    const { status, text } = await get('/readyz');
    expect(status).to.equal(503);
    expect(JSON.parse(text)).to.deep.equal({ ready: false, checks: { redis: 'away', queue: 'full' } });
  });

  it('is not ready when a check hangs', async () => {
    const get = await start({ checks: { redis: () => new Promise(() => {}) } });
    expect((await get('/readyz')).status).to.equal(503);
  });

  it('is not ready while the process stops', async () => {
    const controller = new AbortController();
    const get = await start({ stopping: controller.signal });
    expect((await get('/readyz')).status).to.equal(200);
    controller.abort();
    expect((await get('/readyz')).status).to.equal(503);
  });

  it('serves the registry it was given', async () => {
    const get = await start();
    expect((await get('/metrics')).status).to.equal(200);
    expect((await get('/nothing')).status).to.equal(404);
  });

  /** Counts how often its text was made; a text takes as long as `held` does. */
  function makeRegistry() {
    const made = { texts: 0, held: new Promise(setImmediate) as Promise<unknown> };
    const registry = createMetrics({ processMetrics: false });
    new Gauge({
      ...{ name: 'texts', help: 'made', registers: [registry] },
      async collect() {
        const text = ++made.texts;
        await made.held;
        this.set(text);
      },
    });
    return { made, registry };
  }

  it('makes one text of the metrics for all who wait for one, and never an old one', async () => {
    const { made, registry } = makeRegistry();
    const get = await start({ registry });
    let go = () => {};
    made.held = new Promise<void>((resolve) => {
      go = resolve;
    });
    let asked = 0;
    const count = () => void asked++;
    subscribe('http.server.request.start', count);
    const first = get('/metrics');
    await eventually(() => made.texts === 1);
    const others = Array.from({ length: 14 }, () => get('/metrics'));
    await eventually(() => asked === 15);
    unsubscribe('http.server.request.start', count);
    go();
    expect((await first).text).to.include('texts 1');
    for (const { status, text } of await Promise.all(others)) {
      expect(status).to.equal(200);
      expect(text).to.include('texts 2');
    }
    expect((await get('/metrics')).text).to.include('texts 3');
  });

  it('answers one request of a connection, and has 20 connections at most', async () => {
    const { made, registry } = makeRegistry();
    await start({ registry });
    const open = () => connect({ host: '127.0.0.1', port: server!.port });
    const greedy = open();
    greedy.write('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(300));
    const text = (await greedy.toArray()).join('');
    expect(text.match(/HTTP\/1.1 200/g)).to.have.length(1);
    expect(made.texts).to.equal(1);

    const idle = Array.from({ length: 20 }, open);
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    expect(await open().toArray(), 'the next').to.deep.equal([]);
    for (const socket of idle) socket.destroy();
  });

  it('says so when its port is taken', async () => {
    await start();
    const again = startOpsServer({
      host: '127.0.0.1',
      port: server!.port,
      registry: createMetrics(),
      checks: {},
      logger: createLogger({ service: 'test' }),
    });
    expect(await again.catch((error: NodeJS.ErrnoException) => error.code)).to.equal('EADDRINUSE');
  });
});
