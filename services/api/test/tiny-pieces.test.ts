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

  it('is refused once they are many, as each costs time whatever is in it', async () => {
    for (const pieces of [inPieces(withFile('AAAA'.repeat(7_500)), 1), inPieces(`{"to":"${' '.repeat(30_000)}"}`, 1)]) {
      const { status, body } = await send(pieces);
      expect(status).to.equal(400);
      expect(JSON.parse(body).details).to.deep.equal([{ path: [], message: 'must not come in pieces of a few bytes' }]);
    }
    expect((await api.call('GET', '/status')).status).to.equal(200);
  });

  it('is taken when its caller writes the largest list one word after another, or a file by lines', async () => {
    const numbers = Array.from({ length: LIMITS.maxRecipients }, (_, at) => [', ', `"${447700900000 + at}"`]).flat();
    const list = await send(['{"to": [', ...numbers.slice(1), ']', ', ', '"text"', ': ', '"x"', '}']);
    expect(list.status, list.body).to.equal(202);
    const file = await send(inPieces(withFile(Buffer.alloc(1_800_000, 'text ').toString('base64')), 76));
    expect(file.status, file.body).to.equal(202);
  });
});
