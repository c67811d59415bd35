import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { crc32 } from 'node:zlib';
import type { MediaContent } from '@gateway/contracts/content/media-content';
import { parseMessageId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { parseNetworks } from '@gateway/egress/address-rules';
import { readBlob } from '@gateway/store/blobs/blobs';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { readContent, readSend } from '@gateway/store/sends/read-send';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { makeMp4, makePdf, makePng, makeWav, makeWebp } from '@gateway/testkit/sample-files';
import { expect } from 'chai';
import { linkDevice } from './support/device-owner.js';
import { startTestApi, type TestApi, type TestApiOptions } from './support/test-api.js';

const TO = '447700900001';
const ADDRESS = { workspace: 'main', device: 'default' };
const ONE_SOURCE = 'exactly one of url and base64 must be provided';

describe('POST /send with an attachment', () => {
  let space: RedisSpace;
  let api: TestApi;
  let files: Server;
  let serve: RequestListener;
  let fileUrl: string;

  before(async () => {
    files = createServer((req, res) => serve(req, res));
    await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
    fileUrl = `http://127.0.0.1:${(files.address() as AddressInfo).port}/file`;
  });
  after(() => files.close());
  beforeEach(async () => {
    space = await openRedisSpace();
    api = await start();
    await linkDevice(space.store);
  });
  afterEach(async () => {
    await api.close();
    await space.close();
  });

  const start = (options: TestApiOptions = {}) =>
    startTestApi(space, {
      fetchPolicy: { ports: [Number(new URL(fileUrl).port)], addresses: { allowed: parseNetworks('127.0.0.1/32') } },
      ...options,
    });
  const inline = (type: string, bytes: Buffer, more = {}) => ({ type, base64: bytes.toString('base64'), ...more });
  const send = async (json: object) => {
    const { value } = await api.newToken();
    return api.call('POST', '/send', { json: { to: TO, ...json }, token: value });
  };
  async function accept(json: object): Promise<{ content: MediaContent; parts: number; messageId: string }> {
    const { status, body } = await send(json);
    expect(status, JSON.stringify(body)).to.equal(202);
    const messageId = body.messageId as string;
    const { content } = (await readContent(space.store, ADDRESS, parseMessageId(messageId)!.tag))!;
    const { parts } = (await readSend(space.store, ADDRESS, messageId))!;
    return { content: content as MediaContent, parts, messageId };
  }
  async function expectDetails(json: object, details: unknown[]): Promise<void> {
    const { status, body } = await send(json);
    expect(status, JSON.stringify(body)).to.equal(400);
    expect(body).to.deep.equal({ success: false, error: 'Invalid request data', details });
  }
  const storedOf = ({ blob: hash, sizeBytes }: MediaContent) =>
    readBlob(space.store, ADDRESS.workspace, { hash, sizeBytes });

  it('takes every type, and knows of each what a phone shows', async () => {
    const picture = await accept({ attachment: inline('image', makePng(320, 200)) });
    expect(picture.content).to.include({ type: 'image', mimeType: 'image/png', width: 320, height: 200 });
    expect(Buffer.from(picture.content.thumbnail!, 'base64').subarray(0, 2).toString('hex')).to.equal('ffd8');
    const film = await accept({ attachment: inline('video', makeMp4(640, 360, 7)) });
    expect(film.content).to.include({ type: 'video', mimeType: 'video/mp4', width: 640, height: 360, seconds: 7 });
    const sound = await accept({ attachment: inline('audio', makeWav(3)) });
    expect(sound.content).to.include({ type: 'audio', mimeType: 'audio/wav', seconds: 3 });
    const sticker = await accept({ attachment: inline('sticker', makeWebp()) });
    expect(sticker.content).to.include({ type: 'sticker', mimeType: 'image/webp', width: 1, height: 1 });
    const file = await accept({ attachment: inline('document', makePdf(), { filename: 'Angebot №1.pdf' }) });
    expect(file.content).to.include({ type: 'document', mimeType: 'application/pdf', filename: 'Angebot №1.pdf' });
    expect((await storedOf(file.content))?.equals(makePdf())).to.equal(true);
  });

  it('gives a document a name that phones can open it by', async () => {
    const nameOf = async (attachment: object) => (await accept({ attachment })).content.filename;
    expect(await nameOf(inline('document', makePdf(), { filename: 'as I like it' }))).to.equal('as I like it');
    expect(await nameOf(inline('document', makePdf()))).to.equal('file.pdf');
    expect(await nameOf(inline('document', Buffer.from('a,b'), { mimeType: 'text/csv; charset=utf-8' }))).to.equal(
      'file.csv',
    );
    expect(await nameOf(inline('document', Buffer.from('what is it')))).to.equal('file');
    serve = (_req, res) => res.end(makePdf());
    const behind = (path: string) => nameOf({ type: 'document', url: new URL(path, fileUrl).href });
    expect(await behind('/a/%D8%B9%D8%B1%D8%B6%202.pdf?x=y.png')).to.equal('عرض 2.pdf');
    for (const path of ['/download.php', '/%2e%2e%2fx.pdf', '/a%00b.pdf', '/%zz.pdf', '/offer.pdf/', '/.pdf']) {
      expect(await behind(path), path).to.equal('file.pdf');
    }
    expect(await nameOf(inline('image', makePng(1, 1)))).to.equal(undefined);
  });

  it('tells from the name what a document is whose bytes do not, unless they would', async () => {
    const typeOf = async (attachment: object) => (await accept({ attachment })).content.mimeType;
    const text = Buffer.from('a,b');
    expect(await typeOf(inline('document', text, { filename: 'list.csv' }))).to.equal('text/csv');
    expect(await typeOf(inline('document', text, { filename: 'notes.TXT' }))).to.equal('text/plain');
    for (const filename of ['list.pdf', 'list.jpg', 'list', 'list.unheard-of']) {
      expect(await typeOf(inline('document', text, { filename })), filename).to.equal('application/octet-stream');
    }
    expect(await typeOf(inline('document', makePdf(), { filename: 'list.csv' }))).to.equal('application/pdf');
    serve = (_req, res) => res.end('a,b');
    const { content } = await accept({ attachment: { type: 'document', url: new URL('/a/list.csv', fileUrl).href } });
    expect(content).to.include({ mimeType: 'text/csv', filename: 'list.csv' });
  });

  it('tells from the name what is in an envelope that many formats share', async () => {
    const word = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(1_024)]);
    const drawing = Buffer.from('<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>');
    const cases: [Buffer, string, string][] = [
      [word, 'letter.doc', 'application/msword'],
      [word, 'list.XLS', 'application/vnd.ms-excel'],
      [word, 'list.csv', 'application/x-cfb'],
      [word, 'offer.pdf', 'application/x-cfb'],
      [word, 'letter', 'application/x-cfb'],
      [drawing, 'logo.svg', 'image/svg+xml'],
      [drawing, 'logo.csv', 'application/xml'],
    ];
    for (const [bytes, filename, mimeType] of cases) {
      const { content } = await accept({ attachment: inline('document', bytes, { filename }) });
      expect(content, filename).to.include({ mimeType, filename });
    }
    serve = (_req, res) => res.end(word);
    const { content } = await accept({ attachment: { type: 'document', url: new URL('/letter.doc', fileUrl).href } });
    expect(content).to.include({ mimeType: 'application/msword', filename: 'letter.doc' });
  });

  it('calls a sound in a container of films a sound, said so or not', async () => {
    const sound = makeMp4(0, 0, 3);
    for (const more of [{}, { mimeType: 'audio/mp4' }, { mimeType: 'audio/x-m4a' }]) {
      const { content } = await accept({ attachment: inline('audio', sound, more) });
      expect(content, JSON.stringify(more)).to.include({ type: 'audio', mimeType: 'audio/mp4' });
    }
    const m4a = Buffer.from(sound).fill('M4A ', 8, 12, 'latin1');
    expect((await accept({ attachment: inline('audio', m4a) })).content.mimeType).to.equal('audio/mp4');
  });

  it('lets the caption go with the file, else the text; with both the text follows', async () => {
    const picture = makePng(2, 2);
    const captioned = await accept({ attachment: inline('image', picture, { caption: 'c' }) });
    expect([captioned.content.caption, captioned.content.followingText, captioned.parts]).to.eql(['c', undefined, 1]);
    const texted = await accept({ attachment: inline('image', picture), text: 't' });
    expect([texted.content.caption, texted.content.followingText, texted.parts]).to.eql(['t', undefined, 1]);
    const both = await accept({ attachment: inline('image', picture, { caption: 'c' }), text: 't' });
    expect([both.content.caption, both.content.followingText, both.parts]).to.eql(['c', 't', 2]);
    const long = 'x'.repeat(LIMITS.maxCaptionCharacters + 1);
    const tooLong = await accept({ attachment: inline('image', picture), text: long });
    expect([tooLong.content.caption, tooLong.content.followingText, tooLong.parts]).to.eql([undefined, long, 2]);
  });

  it('puts no words on stickers and sounds: they follow', async () => {
    for (const attachment of [inline('sticker', makeWebp()), inline('audio', makeWav(1))]) {
      const { content, parts } = await accept({ attachment, text: 't' });
      expect([content.caption, content.followingText, parts]).to.eql([undefined, 't', 2]);
      const captioned = await accept({ attachment: { ...attachment, caption: 'c' } });
      expect([captioned.content.caption, captioned.content.followingText]).to.eql([undefined, 'c']);
    }
  });

  it('counts both parts in the backlog of the device', async () => {
    await accept({ to: [TO, '447700900002'], attachment: inline('sticker', makeWebp()), text: 't' });
    expect((await readDeviceState(space.store, ADDRESS)).waitingMessages).to.equal(4);
  });

  it('asks for exactly one source, and for known fields', async () => {
    await expectDetails({ attachment: { type: 'image' } }, [{ path: ['attachment'], message: ONE_SOURCE }]);
    const twice = { ...inline('image', makePng(1, 1)), url: 'https://example.com/x' };
    await expectDetails({ attachment: twice }, [{ path: ['attachment'], message: ONE_SOURCE }]);
    await expectDetails({ attachment: { ...inline('photo', makePng(1, 1)), size: 1 } }, [
      { path: ['attachment', 'type'], message: 'must be one of [image, video, audio, document, sticker]' },
      { path: ['attachment', 'size'], message: 'is not allowed' },
    ]);
    for (const base64 of ['abc', 'ab=c', 'ab c', '!!!!', 'data:image/png;base64,AAAA', '====']) {
      await expectDetails({ attachment: { type: 'image', base64 } }, [
        { path: ['attachment', 'base64'], message: 'must be base64 with padding' },
      ]);
    }
    for (const url of [
      'ftp://example.com/x',
      'file:///etc/passwd',
      'https://me:pw@example.com/',
      'example.com',
      'http://',
      'http://example.com/\r\nHost: localhost',
      ' http://example.com/',
      'http://exam\tple.com/',
      'http://a..b/',
      // The parser would mend these.
      'http:example.com/',
      'http:/example.com/',
      'http:///example.com/',
      'http:\\\\example.com/',
    ]) {
      await expectDetails({ attachment: { type: 'image', url } }, [
        {
          path: ['attachment', 'url'],
          message: 'must be an http or https URL without credentials, of a host and a port that can exist',
        },
      ]);
    }
  });

  it('refuses bytes that are not what they are said to be, and says where', async () => {
    const cases: [object, string, string][] = [
      [inline('image', makePdf()), 'type', 'the file is not an image'],
      [inline('video', makePng(1, 1)), 'type', 'the file is not a video'],
      [inline('audio', makePng(1, 1)), 'type', 'the file is not a sound'],
      [inline('sticker', makePng(1, 1)), 'type', 'the file is not a WebP image'],
      [inline('image', Buffer.from('<svg onload="x"/>')), 'type', 'the file is not an image'],
      [inline('image', makePng(1, 1), { mimeType: 'image/jpeg' }), 'mimeType', 'does not fit the file'],
      [inline('document', makePng(1, 1), { mimeType: 'application/pdf' }), 'mimeType', 'does not fit the file'],
      [inline('document', Buffer.from('text'), { mimeType: 'application/pdf' }), 'mimeType', 'does not fit the file'],
    ];
    for (const [attachment, field, message] of cases) {
      await expectDetails({ attachment }, [{ path: ['attachment', field], message }]);
    }
    const named: [Buffer, string, string][] = [
      [Buffer.from('a,b\n1,2\n'), 'text/csv', 'text/csv'],
      [Buffer.from('no kind at all'), 'application/octet-stream', 'application/octet-stream'],
      [makePdf(), 'Application/PDF', 'Application/PDF'],
    ];
    for (const [bytes, mimeType, expected] of named) {
      const { content } = await accept({ attachment: inline('document', bytes, { mimeType }) });
      expect(content.mimeType).to.equal(expected);
    }
    expect(
      (await accept({ attachment: inline('image', makePng(1, 1), { mimeType: 'image/PNG' }) })).content.mimeType,
    ).to.equal('image/png');
  });

  it('answers 413 past ten megabytes, inside the request or behind a URL, also without a linked account', async () => {
    const limit = LIMITS.maxAttachmentBytes;
    expect((await send({ attachment: inline('document', Buffer.alloc(limit + 1)) })).status).to.equal(413);
    expect((await send({ attachment: inline('document', Buffer.alloc(limit + 3)) })).status).to.equal(413);
    expect((await send({ attachment: inline('document', Buffer.alloc(2 * limit)) })).status).to.equal(413);
    serve = (_req, res) => res.end(Buffer.alloc(limit + 1));
    const remote = await send({ attachment: { type: 'document', url: fileUrl } });
    expect([remote.status, remote.body]).to.eql([413, { success: false, error: 'Payload too large' }]);
    const { value } = await api.newToken({ device: 'unlinked' });
    const json = { to: TO, attachment: inline('document', Buffer.alloc(limit + 1)) };
    expect((await api.call('POST', '/send', { json, token: value })).status).to.equal(413);
    const small = { to: TO, attachment: inline('document', Buffer.alloc(1)) };
    expect((await api.call('POST', '/send', { json: small, token: value })).status).to.equal(409);
  });

  it('takes ten megabytes to 1,000 recipients, and stores them once', async () => {
    const bytes = makePng(64, 64, LIMITS.maxAttachmentBytes - 20_000);
    const { commands } = space.clients;
    // Key by key: the whole of Redis also grows by what else it does.
    const usedBytes = async () => {
      const keys = await commands.keys(`${space.prefix}:*`);
      const sizes = await Promise.all(keys.map((key) => commands.memory('USAGE', key, 'SAMPLES', 0)));
      return sizes.reduce<number>((sum, bytes) => sum + (bytes ?? 0), 0);
    };
    const before = await usedBytes();
    const to = Array.from({ length: 1_000 }, (_, i) => String(447_700_900_000 + i));
    const { content } = await accept({ to, attachment: inline('image', bytes) });
    expect((await storedOf(content))?.equals(bytes)).to.equal(true);
    serve = (_req, res) => res.end(bytes);
    const again = await accept({ to, attachment: { type: 'document', url: fileUrl } });
    expect(again.content.blob).to.equal(content.blob);
    expect((await usedBytes()) - before).to.be.within(bytes.length, 1.3 * bytes.length);
  });

  it('fetches a URL once, when everything else is well', async () => {
    let fetched = 0;
    serve = (_req, res) => {
      fetched++;
      res.end(makePng(3, 4));
    };
    const attachment = { type: 'image', url: fileUrl };
    const { content } = await accept({ to: [TO, '447700900002', '447700900003'], attachment });
    expect(content).to.include({ width: 3, height: 4 });
    expect(fetched).to.equal(1);
    await expectDetails({ to: 'no-number', attachment }, [
      {
        path: ['to'],
        message:
          'must be a phone number of 7 to 15 digits that starts with its country code, without the 0 that is dialled inside the country',
      },
    ]);
    const headers = { 'idempotency-key': 'once' };
    const { value: token } = await api.newToken();
    const first = await api.call('POST', '/send', { json: { to: TO, attachment }, headers, token });
    const second = await api.call('POST', '/send', { json: { to: TO, attachment }, headers, token });
    expect(second.body).to.deep.equal(first.body);
    expect(fetched).to.equal(2);
  });

  it('names the URL that cannot be fetched, or leads to something else', async () => {
    serve = (_req, res) => res.writeHead(500).end();
    const refused = [{ path: ['attachment', 'url'], message: 'could not be fetched' }];
    await expectDetails({ attachment: { type: 'image', url: fileUrl } }, refused);
    await expectDetails({ attachment: { type: 'image', url: 'http://169.254.169.254/latest/meta-data/' } }, refused);
    await expectDetails({ attachment: { type: 'image', url: 'http://localhost/' } }, refused);
    const counted = await api.metrics();
    expect(counted).to.match(/gateway_attachment_url_refusals_total\{[^}]*refusal="status"[^}]*\} 1/);
    expect(counted).to.match(/gateway_attachment_url_refusals_total\{[^}]*refusal="port"[^}]*\} 2/);
    serve = (_req, res) => res.end('<html>please log in</html>');
    await expectDetails({ attachment: { type: 'image', url: fileUrl } }, [
      { path: ['attachment', 'type'], message: 'the file is not an image' },
    ]);
    serve = (_req, res) => res.end();
    await expectDetails({ attachment: { type: 'document', url: fileUrl } }, [
      { path: ['attachment', 'url'], message: 'must not be empty' },
    ]);
  });

  it('keeps no file without remaining recipients', async () => {
    const file = { attachment: inline('document', Buffer.from('offer')) };
    const sendFile = (to: string) => api.call('POST', '/send', { json: { to, ...file } });
    const [first, second] = [await sendFile(TO), await sendFile('447700900002')];
    const files = () => space.clients.commands.keys(`${space.prefix}:*:blob:*`);
    await api.call('DELETE', `/messages/${first.body.messageId}`);
    expect(await files()).to.have.length(1);
    await api.call('DELETE', `/messages/${second.body.messageId}`);
    expect(await files()).to.deep.equal([]);
  });

  it('answers 503 when there is no room for more files', async () => {
    await api.close();
    api = await start({ blobQuotaBytes: 1_000 });
    expect((await send({ attachment: inline('document', Buffer.alloc(600, 1)) })).status).to.equal(202);
    const { status, headers } = await send({ attachment: inline('document', Buffer.alloc(401, 2)) });
    expect([status, headers.get('retry-after')]).to.eql([503, '600']);
    expect((await send({ attachment: inline('document', Buffer.alloc(400, 3)) })).status).to.equal(202);
    const never = await send({ attachment: inline('document', Buffer.alloc(1_001)) });
    expect([never.status, never.headers.get('retry-after')], 'more than there ever is').to.eql([413, null]);
  });

  it('unpacks no picture that would fill the memory', async () => {
    // The library refuses the first by itself, the second is over our own limit only.
    for (const [side, outcome] of [
      [60_000, 'none'],
      [5_000, 'made'],
    ] as const) {
      const bomb = makePng(50, 50);
      bomb.writeUInt32BE(side, 16);
      bomb.writeUInt32BE(side, 20);
      bomb.writeUInt32BE(crc32(bomb.subarray(12, 29)), 29);
      const contents = await Promise.all([1, 2, 3].map(() => accept({ attachment: inline('image', bomb) })));
      expect(contents.map(({ content }) => content.thumbnail)).to.deep.equal([undefined, undefined, undefined]);
      // Its head is enough: unpacked, the small body of the second would be an error.
      expect(await api.metrics()).to.match(new RegExp(`gateway_previews_total\\{[^}]*outcome="${outcome}"[^}]*\\} 3`));
    }
  });

  it('takes a file as it is when its preview cannot be made in time', async () => {
    await api.close();
    api = await start({ previews: { totalMs: 1 } });
    const picture = makePng(500, 500);
    const { content } = await accept({ attachment: inline('image', picture) });
    expect(content).not.to.have.any.keys('thumbnail', 'width');
    expect((await storedOf(content))?.equals(picture)).to.equal(true);
    expect(await api.metrics()).to.match(/gateway_previews_total\{[^}]*outcome="(gave_up|no_answer)"[^}]*\} 1/);
  });

  it('takes a picture that only begins like one as it is', async () => {
    const broken = makePng(500, 500).subarray(0, 60);
    const { content } = await accept({ attachment: inline('image', broken) });
    expect(content.thumbnail).to.equal(undefined);
    expect((await storedOf(content))?.equals(broken)).to.equal(true);
  });
});
