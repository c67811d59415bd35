import { buildOpenApi } from '@gateway/api/documents/build-openapi';
import { BASE_PATH, ENDPOINTS } from '@gateway/api/endpoints';
import { parseMessageId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { startSimulator } from '@gateway/simulator/start-simulator';
import { readContent } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { openRedisSpace } from '@gateway/testkit/redis-space';
import { makePdf, makePng } from '@gateway/testkit/sample-files';
import { expect } from 'chai';
import { ACCOUNT, DEFAULT } from './support/device-owner.js';
import { useTestApi } from './support/use-test-api.js';

/** One character to people and to JSON Schema, two in UTF-16. */
const EMOJI = '😀';
const TO = '447700900001';

describe('limits of texts', () => {
  const { space, api } = useTestApi({ once: true, linked: true });

  const send = async (json: object) => {
    const { value } = await api.newToken();
    return api.call('POST', '/send', { json: { to: TO, ...json }, token: value });
  };
  async function accept(json: object) {
    const { status, body } = await send(json);
    expect(status, JSON.stringify(body)).to.equal(202);
    return (await readContent(space.store, DEFAULT, parseMessageId(String(body.messageId))!.tag))?.content;
  }
  const image = (more: object) => ({
    attachment: { type: 'image', base64: makePng(2, 2).toString('base64'), ...more },
  });
  const tooLong = (path: string[], limit: number) => ({
    path,
    message: `length must be less than or equal to ${limit} characters long`,
  });

  it('count characters, whatever their place in Unicode', async () => {
    const text = EMOJI.repeat(LIMITS.maxTextCharacters);
    expect(await accept({ text })).to.deep.equal({ kind: 'text', text });
    const caption = EMOJI.repeat(LIMITS.maxCaptionCharacters);
    expect(await accept(image({ caption }))).to.include({ caption });
    const filename = `${EMOJI.repeat(LIMITS.maxFilenameCharacters - 4)}.pdf`;
    const document = { type: 'document', base64: makePdf().toString('base64'), filename };
    expect(await accept({ attachment: document })).to.include({ filename });
    const { body } = await send({ text: 'x', existingMessageId: EMOJI.repeat(100) });
    expect(body.details).to.deep.equal([
      { path: ['existingMessageId'], message: 'is no message that this device sent or received' },
    ]);
  });

  it('refuse one character more', async () => {
    const { body } = await send({
      text: EMOJI.repeat(LIMITS.maxTextCharacters + 1),
      existingMessageId: EMOJI.repeat(101),
      ...image({
        caption: EMOJI.repeat(LIMITS.maxCaptionCharacters + 1),
        filename: EMOJI.repeat(LIMITS.maxFilenameCharacters + 1),
      }),
    });
    expect(body.details).to.have.deep.members([
      tooLong(['text'], LIMITS.maxTextCharacters),
      tooLong(['existingMessageId'], 100),
      tooLong(['attachment', 'caption'], LIMITS.maxCaptionCharacters),
      tooLong(['attachment', 'filename'], LIMITS.maxFilenameCharacters),
    ]);
  });

  it('put a text onto a file that is as long as a caption may be', async () => {
    const text = EMOJI.repeat(LIMITS.maxCaptionCharacters);
    expect(await accept({ text, ...image({}) })).to.include({ caption: text });
    const longer = text + EMOJI;
    expect(await accept({ text: longer, ...image({}) })).to.include({ followingText: longer });
  });

  it('leave room for the longest text beside the largest list, with every character escaped', async () => {
    const escaped = '\\ud83d\\ude00'.repeat(LIMITS.maxTextCharacters);
    const to = Array.from({ length: LIMITS.maxRecipients }, (_, i) => `+44 (7700) ${900_000_000 + i}`);
    const { value: token } = await api.newToken();
    const { status } = await api.call('POST', '/send', {
      token,
      body: `{"to":${JSON.stringify(to)},"text":"${escaped}"}`,
      headers: { 'content-type': 'application/json' },
    });
    expect(status).to.equal(202);
  });

  it('refuse what leaves nothing to be seen, and take white space around words', async () => {
    const message = 'must contain a visible character';
    for (const blank of [' ', '\n\t\r\n', '\u00a0\u3000', '\u200b\u2060\ufeff', '\u0000', '\u202e', '\u3164']) {
      const { status, body } = await send({ text: blank, ...image({ caption: blank }) });
      expect(status, JSON.stringify(blank)).to.equal(400);
      expect(body.details).to.deep.equal([
        { path: ['text'], message },
        { path: ['attachment', 'caption'], message },
      ]);
    }
    for (const text of [' \n. ', '\u200fم', '👨\u200d👩\u200d👧', '❤\ufe0f', '\ud83d\ude00'])
      expect(await accept({ text })).to.deep.equal({ kind: 'text', text });
  });

  it('stand in the document', () => {
    const { post } = buildOpenApi(ENDPOINTS, BASE_PATH).paths['/send']!;
    const { text, existingMessageId, attachment } = post!.requestBody!.content['application/json'].schema.properties!;
    const { caption, filename, url, mimeType } = attachment!.properties!;
    expect([text, existingMessageId, caption, filename, url, mimeType].map((each) => each?.maxLength)).to.deep.equal([
      LIMITS.maxTextCharacters,
      100,
      LIMITS.maxCaptionCharacters,
      LIMITS.maxFilenameCharacters,
      LIMITS.maxAttachmentUrlCharacters,
      255,
    ]);
  });
});

describe('the longest text', () => {
  it('is on the phone as it was sent', async () => {
    const [space, simulator] = await Promise.all([openRedisSpace(), startSimulator()]);
    const gateway = await Gateway.start({ space, simulator, inOneProcess: true });
    try {
      await gateway.link(ACCOUNT);
      const [friend] = makeNumbers(1, 33) as [string];
      const text = `${EMOJI.repeat(LIMITS.maxTextCharacters - 1)}!`;
      const { status } = await gateway.call('POST', '/send', { body: { to: friend, text } });
      expect(status).to.equal(202);
      const [shown] = await eventually(async () => {
        const messages = (await readDeliveries(simulator, ACCOUNT)).filter(({ to }) => to === friend);
        return messages.length > 0 && messages;
      });
      expect(shown?.text === text).to.equal(true);
    } finally {
      await gateway.close();
      await simulator.close();
      await space.close();
    }
  });
});
