import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { parseNetworks } from '@gateway/egress/address-rules';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { startTestApi, type TestApi } from '../../../api/test/support/test-api.js';
import { startTestDashboard, type TestDashboard, type TestDashboardOptions } from './test-dashboard.js';

const SECRET_PATH = '/hooks/a-token-in-the-path';

export interface WebhookStage {
  space: RedisSpace;
  dashboard: TestDashboard;
  /** Of a server that says `thanks`. */
  url: string;
  host: string;
  /** What that answers next. */
  status: number;
  /** What was posted to it. */
  received: { body: string; headers: Record<string, string> }[];
}

/** A console, the API behind it, and a server that webhooks may lead to, for all tests of a `describe`. */
export function useWebhookStage(options: TestDashboardOptions = {}): WebhookStage {
  const stage = {} as WebhookStage;
  let receiver: Server;
  let api: TestApi;
  before(async () => {
    receiver = createServer(async (req, res) => {
      stage.received.push({ body: await text(req), headers: req.headers as Record<string, string> });
      res.writeHead(stage.status).end('thanks');
    });
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
    const host = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
    const space = await openRedisSpace();
    const addresses = { allowed: parseNetworks('127.0.0.1/32') };
    api = await startTestApi(space, { webhookPolicy: { isSecure: true, addresses } });
    const dashboard = await startTestDashboard(space, { ...options, apiUrl: api.origin });
    Object.assign(stage, { space, dashboard, host, url: `http://${host}${SECRET_PATH}`, status: 200, received: [] });
  });
  after(async () => {
    await stage.dashboard.close();
    await api.close();
    receiver.closeAllConnections();
    receiver.close();
    await stage.space.close();
  });
  return stage;
}
