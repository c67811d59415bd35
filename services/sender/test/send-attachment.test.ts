import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FaultAction } from '@gateway/simulator/faults/fault-book';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries, readFileOnPhone, type ShownMessage } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { makeAnimatedWebp, makeMp4, makePdf, makePng, makeWav, makeWebp } from '@gateway/testkit/sample-files';
import { expect } from 'chai';

const ACCOUNT = '491700000031';
/** A file whose preview is not there in time goes out without it: on a machine with other work that is no defect. */
const TRIES = 4;

describe('an attachment, end to end', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  /** Before the test. */
  let countsBefore: { uploads: number; shown: number };
  /** Each test has files of its own: what was uploaded once is not uploaded again. */
  let fileNumber = 0;
  let picture: Buffer;
  let document: Buffer;
  const files = createServer((_req, res) => res.end(picture));
  const port = () => (files.address() as AddressInfo).port;

  before(async () => {
    await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    gateway = await Gateway.start({
      ...{ space, simulator, senders: 2 },
      env: { SESSION_TTL_MS: '2000', ATTACHMENT_PORTS: String(port()), ATTACHMENT_NETWORKS: '127.0.0.1/32' },
    });
    await gateway.link(ACCOUNT);
  });
  beforeEach(() => {
    const { uploads, shown } = simulator.network.counters;
    countsBefore = { uploads, shown };
    fileNumber += 1;
    picture = makePng(320, 200 + fileNumber);
    document = Buffer.concat([makePdf(), Buffer.from(`% ${fileNumber}\n`)]);
  });
  after(async () => {
    files.close();
    await gateway.close();
    await simulator.close();
    await space.close();
  });

  const uploads = () => simulator.network.counters.uploads - countsBefore.uploads;
  const shownSince = () => simulator.network.counters.shown - countsBefore.shown;
  const inline = (type: string, bytes: Buffer, more = {}) => ({ type, base64: bytes.toString('base64'), ...more });
  async function send(to: string[], body: object): Promise<string> {
    const answer = await gateway.call('POST', '/send', { body: { to, ...body } });
    expect(answer.status, JSON.stringify(answer.body)).to.equal(202);
    return answer.body.messageId;
  }
  const waitForCount = (messageId: string, status: string, count: number) =>
    gateway.waitForSend(messageId, { [status]: count });
  /** What the phone of a number shows, in order. */
  const shownTo = async (number: string): Promise<ShownMessage[]> => (await shownToAll())(number);
  async function shownToAll(): Promise<(number: string) => ShownMessage[]> {
    const deliveries = await readDeliveries(simulator, ACCOUNT);
    return (number) => deliveries.filter(({ to }) => to === number);
  }
  const chunks = () => space.clients.commands.keys(`${space.prefix}:*:blob:*`);
  async function fault(on: 'upload' | 'message', action: FaultAction, more = {}): Promise<void> {
    const body = JSON.stringify({ on, do: action, ...more });
    const headers = { 'content-type': 'application/json' };
    const { ok } = await fetch(`${simulator.adminUrl}/admin/faults`, { method: 'POST', headers, body });
    expect(ok).to.equal(true);
  }

  it('of every type is on the phone byte for byte, with all that a phone shows of it', async () => {
    const cases: [string, Buffer, object, object][] = [
      ['image', picture, { caption: 'a picture' }, { mimeType: 'image/png', width: 320, height: 201 }],
      ['video', makeMp4(640, 360, 7), {}, { mimeType: 'video/mp4', width: 640, height: 360, seconds: 7 }],
      ['audio', makeWav(3), {}, { mimeType: 'audio/wav', seconds: 3 }],
      ['sticker', makeWebp(), {}, { mimeType: 'image/webp', width: 1, height: 1 }],
      ['sticker', makeAnimatedWebp(), {}, { mimeType: 'image/webp', width: 2, height: 2, animated: true }],
      ['document', picture, { filename: 'a.png' }, { mimeType: 'image/png', fileName: 'a.png' }],
      ['document', document, { filename: 'offer.pdf' }, { mimeType: 'application/pdf', fileName: 'offer.pdf' }],
    ];
    const numbers = makeNumbers(cases.length * TRIES, 31).values();
    for (const [type, bytes, more, details] of cases) {
      const sendOnce = async () => {
        const to = numbers.next().value!;
        await send([to], { attachment: inline(type, bytes, more) });
        return await eventually(async () => (await shownTo(to))[0]);
      };
      const isDescribed = ({ details: seen = {} }: ShownMessage) =>
        Object.entries(details).every(([name, value]) => seen[name] === value) && (bytes !== picture || seen.thumbnail);
      let shown = await sendOnce();
      for (let tries = 1; tries < TRIES && !isDescribed(shown); tries++) shown = await sendOnce();
      expect(shown, type).to.include({ type, shown: 1 });
      expect(shown.details).to.include({ intact: true, bytes: bytes.length, ...details });
      expect((await readFileOnPhone(simulator, shown)).equals(bytes), `${type}: the same bytes`).to.equal(true);
      if (type === 'image') expect(shown.text).to.equal('a picture');
      if (bytes === picture) {
        expect(
          Buffer.from(shown.details!.thumbnail as string, 'base64')
            .subarray(0, 2)
            .toString('hex'),
        ).to.equal('ffd8');
      }
    }
  });

  it('goes to a list of 100 with one upload, and its text follows it on every phone', async () => {
    const numbers = makeNumbers(100, 32);
    const attachment = { type: 'image', url: `http://127.0.0.1:${port()}/picture`, caption: 'first' };
    const messageId = await send(numbers, { attachment, text: 'second' });
    await waitForCount(messageId, 'read', 100);
    expect(uploads()).to.equal(1);
    const shownOn = await shownToAll();
    for (const number of numbers) {
      const shown = shownOn(number);
      expect(shown.map(({ type, text, shown }) => [type, text, shown])).to.deep.equal([
        ['image', 'first', 1],
        ['text', 'second', 1],
      ]);
      expect(shown[0]!.details).to.include({ intact: true });
    }
    const again = await send(makeNumbers(3, 33), { attachment: inline('image', picture) });
    await waitForCount(again, 'read', 3);
    expect(uploads(), 'the next send uses the same upload').to.equal(1);
    await ringDoorbell(space.store, { topic: 'sends', workspace: 'main', device: 'default' });
    await eventually(async () => (await chunks()).length === 0, { what: 'a Redis without the file' });
  });

  it('survives SIGKILL of its sender: every phone shows each part once, and nothing is uploaded again', async () => {
    const numbers = makeNumbers(120, 34);
    const messageId = await send(numbers, {
      attachment: inline('sticker', Buffer.concat([makeWebp(), Buffer.alloc(1)])),
      text: 'survivor',
    });
    await eventually(() => shownSince() >= 50, { everyMs: 5 });
    const owner = await gateway.findOwner();
    await owner!.kill();
    expect(shownSince(), 'killed in mid-list').to.be.lessThan(240);
    await waitForCount(messageId, 'read', 120);
    expect(uploads()).to.equal(1);
    const shownOn = await shownToAll();
    for (const number of numbers) {
      expect(shownOn(number).map(({ type, shown }) => [type, shown])).to.deep.equal([
        ['sticker', 1],
        ['text', 1],
      ]);
    }
  });

  it('comes again, without an upload, to a phone that could not read it', async () => {
    const [number] = makeNumbers(1, 38);
    const first = await send([number!], { attachment: inline('image', picture) });
    await waitForCount(first, 'read', 1);
    const reinstalled = await fetch(`${simulator.adminUrl}/admin/phones/${number}/reinstall`, { method: 'POST' });
    expect(reinstalled.ok).to.equal(true);
    const body = { attachment: inline('image', picture, { caption: 'again' }), text: 'and a text' };
    await waitForCount(await send([number!], body), 'read', 1);
    const [, again, text] = await shownTo(number!);
    expect(again).to.include({ type: 'image', text: 'again', shown: 1 });
    expect(text).to.include({ type: 'text', text: 'and a text', shown: 1 });
    expect((await readFileOnPhone(simulator, again!)).equals(picture)).to.equal(true);
    expect(uploads()).to.equal(1);
  });

  it('is uploaded again when the network did not take it', async () => {
    await fault('upload', { error: 503 }, { count: 2 });
    const messageId = await send(makeNumbers(2, 35), { attachment: inline('document', document) });
    await waitForCount(messageId, 'read', 2);
    expect(uploads()).to.equal(1);
  });

  it('that is gone from the store fails its recipients, and says why', async () => {
    await fault('upload', { error: 503 }, { count: 2 });
    const ofOthers = await chunks();
    const messageId = await send(makeNumbers(2, 36), { attachment: inline('document', document) });
    const stored = (await chunks()).filter((key) => !ofOthers.includes(key));
    expect(stored).to.have.length(1);
    await space.clients.commands.del(...stored);
    const { recipients } = await waitForCount(messageId, 'failed', 2);
    expect(recipients[0]).to.include({ status: 'failed', error: 'attachment_unreadable' });
  });

  it('sends what is missing when only its second part was refused for now', async () => {
    await fault('message', { ackError: 503 }, { skip: 1, count: 1 });
    const [number] = makeNumbers(1, 37);
    const messageId = await send([number!], { attachment: inline('audio', makeWav(1)), text: 'and this' });
    await waitForCount(messageId, 'read', 1);
    expect((await shownTo(number!)).map(({ type, shown, arrivals }) => [type, shown, arrivals])).to.deep.equal([
      ['audio', 1, 1],
      ['text', 1, 1],
    ]);
  });
});
