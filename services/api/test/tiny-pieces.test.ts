import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { LIMITS } from '@gateway/contracts/limits';
import { expect } from 'chai';
import { exchange, type RawAnswer } from './support/raw-request.js';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const withFile = (base64: string) =>
  `{"to":"447700900001","attachment":{"type":"document","filename":"a.txt","base64":"${base64}"}}`;
const inPieces = (text: string, bytes: number) => text.match(new RegExp(`.{1,${bytes}}`, 'gs'))!;

describe('a body that comes in tiny pieces', () => {
  const { api } = useTestApi({ linked: true });

  async function send(pieces: string[]): Promise<RawAnswer> {
    const head = [`POST ${BASE}/send HTTP/1.1`, 'Host: x', `Authorization: Bearer ${api.token}`];
    const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('');
    const type = 'Content-Type: application/json\r\nTransfer-Encoding: chunked';
    return (await exchange(api.port, [`${head.join('\r\n')}\r\n${type}\r\n\r\n${chunks}0\r\n\r\n`]))[0]!;
  }

  for (const [what, body] of [
    ['a file', withFile('AAAA'.repeat(7_500))],
    ['a number', `{"to":"${' '.repeat(30_000)}"}`],
  ] as const) {
    it(`is refused once they are many, as each costs time whatever is in it: ${what}`, async () => {
      const answer = await send(inPieces(body, 1));
      expect(answer.status).to.equal(400);
      expect(JSON.parse(answer.body).details).to.deep.equal([
        { path: [], message: 'must not come in pieces of a few bytes' },
      ]);
      expect((await api.call('GET', '/status')).status).to.equal(200);
    });
  }

  it('is refused early while others bring as many, and nothing is made of its rest; no other body is', async () => {
    let made = 0;
    const watch = (message: unknown) => {
      const { request } = message as { request: IncomingMessage };
      const push = request.push.bind(request);
      request.push = (piece: unknown) => {
        made++;
        return push(piece);
      };
    };
    subscribe('http.server.request.start', watch);
    const flood = inPieces(withFile('AAAA'.repeat(5_000)), 1);
    const neighbour = () => send(['{"to":"447700900001",', '"text":"x"}']);
    const [others, ...floods] = await Promise.all([neighbour(), ...Array.from({ length: 10 }, () => send(flood))]);
    unsubscribe('http.server.request.start', watch);
    expect(others!.status).to.equal(202);
    expect(made).to.be.below(100_000);
    const refused = floods.filter(({ status }) => status === 503);
    expect(refused).not.to.have.length(0);
    for (const { headers } of refused) {
      expect(headers.get('retry-after')).to.equal('1');
      expect(headers.get('x-ratelimit-remaining')).to.match(/^\d+$/);
      expect(headers.get('connection')).to.equal('close');
    }
  });

  it('is taken when its caller writes the largest list one word after another, or a file by lines', async () => {
    const numbers = Array.from({ length: LIMITS.maxRecipients }, (_, at) => [', ', `"${447700900000 + at}"`]).flat();
    const list = await send(['{"to": [', ...numbers.slice(1), ']', ', ', '"text"', ': ', '"x"', '}']);
    expect(list.status, list.body).to.equal(202);
    const file = await send(inPieces(withFile(Buffer.alloc(1_800_000, 'text ').toString('base64')), 76));
    expect(file.status, file.body).to.equal(202);
  });
});
