import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { boundPace } from '@gateway/api/media/bound-pace';
import { makeMediaId, parseMediaId } from '@gateway/contracts/content/media-id';
import { WrongMediaError } from '@gateway/media/media-opener';
import { sealMedia } from '@gateway/simulator/media/seal-media';
import { takeQuestions, writeOwnerAnswer } from '@gateway/store/devices/questions/owner-questions';
import { removeDevice } from '@gateway/store/devices/removing/remove-device';
import { takeAccount } from '@gateway/store/devices/take-account';
import { readInbound, recordReceived } from '@gateway/store/inbound/received-messages';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { DEFAULT, linkDevice } from './support/device-owner.js';
import { SentFiles } from './support/sent-files.js';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const FILE = randomBytes(300_000);

describe('GET /media/:id', () => {
  const mediaHosts: string[] = [];
  const { space, api, owner } = useTestApi({ linked: true, mediaHosts });
  const files = new SentFiles();
  const { store } = files;
  let token: string;

  before(() => files.start());
  after(() => files.close());
  beforeEach(async () => {
    files.answer = undefined;
    files.asked = 0;
    mediaHosts.length = 0;
    token = (await api.newToken({ scopes: ['events'] })).value;
  });

  const receive = (file = FILE, more: object = {}) => files.receive(space.store, owner.ownership, file, more);
  /** All of the answer: one that is not read would hold up the end of the test. A short one may break off before its head. */
  async function fetchFile(id: string, { with: shown = token, signal }: { with?: string; signal?: AbortSignal } = {}) {
    const headers = { authorization: `Bearer ${shown}` };
    try {
      const response = await fetch(`${api.origin}${BASE}/media/${id}`, { headers, signal: signal ?? null });
      return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
    } catch {
      return { status: 0, headers: new Headers(), body: 'broken off' };
    }
  }
  const show = (id: string, shown = token) => api.call('GET', `/media/${id}`, { token: shown });

  it('is the file also under a name that has half a character', async () => {
    const { status, headers } = await fetchFile(await receive(FILE, { filename: 'a \ud800.pdf' }));
    expect([status, headers.get('content-disposition')]).to.deep.equal([
      200,
      "attachment; filename*=UTF-8''a%20%EF%BF%BD.pdf",
    ]);
  });

  it('is nothing over HTTP/1.0, where a file that broke off looks whole', async () => {
    const id = await receive();
    const socket = connect(api.port, '127.0.0.1');
    socket.write(`GET ${BASE}/media/${id} HTTP/1.0\r\nAuthorization: Bearer ${token}\r\n\r\n`);
    const answer = await text(socket);
    expect(answer)
      .to.match(/^HTTP\/1\.1 400 /)
      .and.include('use HTTP/1.1');
  });

  it('is the file, decrypted, as an attachment that no browser shows', async () => {
    for (const size of [0, 1, 16, 300_000]) {
      const file = FILE.subarray(0, size);
      const response = await fetchFile(await receive(file));
      expect(response.status).to.equal(200);
      expect(file.equals(response.body as Buffer), `${size} bytes`).to.equal(true);
      expect(response.headers.get('content-type')).to.equal('application/pdf');
      expect(response.headers.get('content-disposition')).to.equal("attachment; filename*=UTF-8''Ann%27s%20bill.pdf");
      expect(response.headers.get('x-content-type-options')).to.equal('nosniff');
      expect(response.headers.get('content-security-policy')).to.equal("default-src 'none'; sandbox");
      expect(response.headers.get('cache-control')).to.equal('no-store');
      expect(response.headers.get('x-ratelimit-limit')).to.equal('60');
    }
  });

  it('breaks off when it is not the file that its message speaks of', async () => {
    const id = await receive();
    const { directPath } = sealMedia(store, randomBytes(300_000), 'Document');
    const changed = Buffer.from(store.find(sealMedia(store, FILE, 'Document').directPath)!);
    changed[150_000]! ^= 1;
    const right = await readInbound(space.store, DEFAULT, { receivedId: '3AB0', nowMs: Date.now() });
    if (right?.content?.type !== 'document') throw new Error('no document');
    const sealed = store.find(right.content.media.directPath)!;
    const wrong = [store.find(directPath)!, changed, sealed.subarray(0, -1), sealed.subarray(0, 160), Buffer.alloc(0)];
    for (const bytes of [...wrong, Buffer.concat([sealed, Buffer.from('x')])]) {
      files.answer = { bytes };
      const { body } = await fetchFile(id);
      expect(body, `${bytes.length} bytes`).to.equal('broken off');
    }
    const otherHash = await receive(FILE, { sha256: createHash('sha256').update('x').digest('base64') });
    files.answer = undefined;
    const { body } = await fetchFile(otherHash);
    expect(body).to.equal('broken off');
  });

  it('is for the scope of events, and the device of its token', async () => {
    const id = await receive();
    const { value: sender } = await api.newToken();
    expect((await show(id, sender)).status).to.equal(403);
    await linkDevice(space.store, { workspace: 'main', device: 'shop' });
    const { value: other } = await api.newToken({ device: 'shop', scopes: ['events'] });
    expect((await show(id, other)).status).to.equal(404);
    const { value: own } = await api.newToken({ device: 'default', scopes: ['events'] });
    expect((await fetchFile(id, { with: own })).status).to.equal(200);
  });

  it('is not there for what is no id, no message, and no file', async () => {
    const message = { platformId: '3AT0', jid: '1@lid', text: 'hello', content: { type: 'text' as const } };
    await recordReceived(space.store, owner.ownership, { message, nowMs: Date.now() });
    const ids = ['x', 'med_x', 'med_00000000_M0E', makeMediaId(DEFAULT, '3ANO'), makeMediaId(DEFAULT, '3AT0')];
    for (const id of ids) expect((await show(id)).status, id).to.equal(404);
    expect(files.asked).to.equal(0);
  });

  it('is asked of the phone when the network has it no more, and found there from then on', async () => {
    const id = await receive();
    const { directPath } = sealMedia(store, FILE, 'Document');
    store.expire({ areForgotten: false });
    const first = fetchFile(id);
    const [{ id: question, question: about }] = (await eventually(async () => {
      const found = await takeQuestions(space.store, owner.ownership);
      return found.length > 0 && found;
    })) as never as [{ id: string; question: { kind: string; platformId: string; jid: string } }];
    expect(about).to.include({ kind: 'file', platformId: '3AB0', jid: '447700900124@s.whatsapp.net' });
    const message = await readInbound(space.store, DEFAULT, { receivedId: '3AB0', nowMs: Date.now() });
    if (message?.content?.type !== 'document') throw new Error('no document');
    const again = store.renew(message.content.media.directPath)!;
    expect(again).not.to.equal(directPath);
    const value = JSON.stringify({ directPath: again });
    await writeOwnerAnswer(space.store, owner.ownership, { id: question, part: '0', value });
    expect(FILE.equals((await first).body as Buffer)).to.equal(true);
    expect((await fetchFile(id)).status, 'no phone is asked').to.equal(200);
  });

  it('is asked of the phone once for all who want it at once, also when the first of them leaves', async () => {
    const id = await receive();
    const message = await readInbound(space.store, DEFAULT, { receivedId: '3AB0', nowMs: Date.now() });
    if (message?.content?.type !== 'document') throw new Error('no document');
    store.expire({ areForgotten: false });
    const tokens = await Promise.all([1, 2, 3].map(() => api.newToken({ scopes: ['events'] })));
    const leaving = new AbortController();
    const left = fetchFile(id, { signal: leaving.signal });
    await eventually(() => files.asked === 1);
    const all = tokens.flatMap(({ value }) => [1, 2, 3, 4].map(() => fetchFile(id, { with: value })));
    await eventually(() => files.asked === 1 + all.length);
    leaving.abort();
    expect((await left).body).to.equal('broken off');
    const questions = new Set<string>();
    const value = JSON.stringify({ directPath: store.renew(message.content.media.directPath) });
    let areAnswered = false;
    const answered = Promise.all(all).finally(() => {
      areAnswered = true;
    });
    await eventually(async () => {
      for (const question of await takeQuestions(space.store, owner.ownership)) {
        questions.add(question.id);
        await writeOwnerAnswer(space.store, owner.ownership, { id: question.id, part: '0', value });
      }
      return areAnswered;
    });
    for (const { body } of await answered) expect(FILE.equals(body as Buffer)).to.equal(true);
    expect(questions.size).to.equal(1);
  });

  it('is the file also where the server that its message names has it no more, as when a phone has uploaded it to another', async () => {
    const named = new SentFiles();
    await named.start();
    try {
      const id = await receive(FILE, { host: named.host });
      mediaHosts.push(files.host);
      expect(FILE.equals((await fetchFile(id)).body as Buffer)).to.equal(true);
      expect([named.asked, files.asked]).to.deep.equal([1, 1]);
    } finally {
      named.close();
    }
  });

  it('is the file also where the server that its message names fails, or is not there', async () => {
    const away = new SentFiles();
    await away.start();
    const id = await receive(FILE, { host: away.host });
    mediaHosts.push(files.host);
    away.answer = { status: 500 };
    const failed = await fetchFile(id);
    away.close();
    const gone = await fetchFile(id);
    for (const { status, body } of [failed, gone]) {
      expect(status).to.equal(200);
      expect(FILE.equals(body as Buffer)).to.equal(true);
    }
  });

  it('is gone when the phone does not have it, or is that of another account', async () => {
    const id = await receive();
    // Of a path whose time is over the network says 403.
    for (const status of [410, 404, 403]) {
      files.answer = { status };
      const asked = show(id);
      const [taken] = await eventually(async () => {
        const found = await takeQuestions(space.store, owner.ownership);
        return found.length > 0 && found;
      });
      const value = JSON.stringify({ directPath: null });
      await writeOwnerAnswer(space.store, owner.ownership, { id: taken!.id, part: '0', value });
      expect(await asked).to.deep.include({ status: 410, body: { success: false, error: 'File is gone' } });
    }
    await takeAccount(space.store, owner.ownership, { phone: '447700900999', nowMs: Date.now() });
    expect((await show(id)).status).to.equal(410);
  });

  it('waits for its account where no phone can be asked, and is gone with the device', async () => {
    const id = await receive();
    files.answer = { status: 404 };
    await owner.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
    const { status, body } = await show(id);
    expect([status, body.error]).to.deep.equal([409, 'No connected messenger device found']);
    expect(await removeDevice(space.store, DEFAULT)).to.equal('removed');
    expect((await show(id)).status).to.equal(410);
    files.answer = undefined;
    expect((await fetchFile(id)).status, 'the network has it').to.equal(200);
  });

  it('is tried again later when the network fails; a redirect is not followed', async () => {
    const id = await receive();
    for (const status of [500, 302, 204]) {
      files.answer = { status, bytes: Buffer.alloc(0), headers: { location: 'https://127.0.0.1:1/' } };
      const { status: given, headers } = await show(id);
      expect(given, String(status)).to.equal(503);
      expect(headers.get('retry-after')).to.equal('30');
    }
    expect(files.asked).to.equal(3);
  });
});

describe('a file of the network', () => {
  it('has an id that leads back to its message, whatever that is called', () => {
    for (const platformId of ['3EB0', 'x/../y', 'ü 1']) {
      const id = makeMediaId(DEFAULT, platformId);
      expect(id).to.match(/^[\w-]+$/);
      expect(parseMediaId(id)?.receivedId).to.equal(platformId);
    }
  });

  it('is not held for a reader who does not read', async () => {
    const source = new PassThrough();
    const slow = boundPace(source, { slowStartMs: 10, bytesPerSecond: 1_000_000, checkMs: 10 });
    source.write(Buffer.alloc(1_000));
    const [error] = (await once(slow, 'error')) as [Error];
    expect(error).not.to.be.instanceOf(WrongMediaError);
    expect(source.destroyed).to.equal(true);
  });
});
