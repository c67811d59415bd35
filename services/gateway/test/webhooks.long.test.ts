import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';

const ACCOUNT = '491600000078';
const LIST = 300;

interface Received {
  id: string;
  body: string;
  event: GatewayEvent;
}

describe('webhooks, from a list to an endpoint', () => {
  const fixture = useGateway({ inOneProcess: true, env: { WEBHOOK_NETWORKS: '127.0.0.1/32' } });
  const received: Received[] = [];
  let secret = '';
  let refusals = 0;
  let server: Server;
  before(async () => {
    // Each third request is refused: it comes again as it was.
    let requests = 0;
    server = createServer((req, res) => {
      const pieces: Buffer[] = [];
      req.on('data', (piece: Buffer) => pieces.push(piece));
      req.on('end', () => {
        const body = Buffer.concat(pieces).toString();
        const event = JSON.parse(body) as GatewayEvent;
        if (secret) new Webhook(secret).verify(body, req.headers as Record<string, string>);
        received.push({ id: String(req.headers['webhook-id']), body, event });
        const isRefused = event.type !== 'webhook.test' && ++requests % 3 === 0 && ++refusals < 3;
        res.writeHead(isRefused ? 500 : 204).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  after(() => new Promise((resolve) => server.close(resolve)));

  it('arrive signed, in order, and repeats are the same bytes', async () => {
    const { gateway, space } = fixture;
    await gateway.link(ACCOUNT);
    const { value: token } = await createApiToken(space.store, 'main', { name: 'hooks', scopes: ['webhooks'] });
    const call = async (path: string, json: object = {}) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const answer = await fetch(`${gateway.baseUrl}${path}`, { method: 'POST', headers, body: JSON.stringify(json) });
      const body = (await answer.json()) as { webhook: { id: string }; secret: string };
      expect(answer.ok, JSON.stringify(body)).to.equal(true);
      return body;
    };
    const { port } = server.address() as AddressInfo;
    const made = await call('/webhooks', { url: `http://127.0.0.1:${port}/hook`, gatherSeconds: 1 });
    const id = JSON.stringify(made).match(/wh_[a-z0-9]+/)![0];
    secret = JSON.stringify(made).match(/whsec_[A-Za-z0-9+/=]+/)![0];
    const messageId = await fixture.send(makeNumbers(LIST, 9), 'hello');
    await call(`/webhooks/${id}/test`);
    await gateway.waitForSend(messageId, { read: LIST });
    const rows = () =>
      firsts().flatMap(({ event }) => (event.type === 'messages.updated' ? (event.data.changes as ChangeData[]) : []));
    const firsts = () => [...new Map(received.map((each) => [each.id, each])).values()];
    await eventually(
      () =>
        new Set(
          rows()
            .filter(({ status }) => status === 'read')
            .map(({ index }) => index),
        ).size === LIST,
    );
    const RANKS = ['sent', 'delivered', 'read'];
    for (let index = 0; index < LIST; index++) {
      const statuses = rows()
        .filter((row) => row.index === index)
        .map(({ status }) => RANKS.indexOf(status));
      expect(statuses).to.deep.equal([...statuses].sort());
      expect(statuses.at(-1)).to.equal(2);
    }
    expect(new Set(rows().map((row) => row.id)).size).to.equal(rows().length);
    for (const { id: same, body } of received) {
      expect(new Set(received.filter((each) => each.id === same).map((each) => each.body))).to.deep.equal(
        new Set([body]),
      );
    }
    expect(refusals, 'some came twice').to.be.above(0);
    expect(received.length).to.be.above(firsts().length);
    const finished = await eventually(() => {
      const found = firsts().filter(({ event }) => event.type === 'send.finished');
      return found.length > 0 && found;
    });
    expect(finished.map(({ event }) => event.data.messageId)).to.deep.equal([messageId]);
    expect(received.length).to.be.below(80);
  });
});
