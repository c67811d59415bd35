import { AbsentMessages } from '@gateway/messenger/inbound/absent-messages';
import { type BaileysSocket, type BinaryNode, proto } from '@gateway/messenger/socket/baileys';
import { systemClock } from '@gateway/runtime/clock';
import { type Deferred, defer } from '@gateway/runtime/deferred';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

const WRITER = '447700900131@s.whatsapp.net';

describe('messages that the phone is asked for', () => {
  let session: AbortController;
  let asked: proto.IMessageKey[][];
  let handedOver: { stanza: BinaryNode; text: string | null | undefined }[];
  let written: Deferred<void>;
  let renewed: number;

  beforeEach(() => {
    [session, asked, handedOver, written, renewed] = [new AbortController(), [], [], defer<void>(), 0];
  });
  afterEach(() => session.abort());

  function make(answerMs = 60_000): AbsentMessages {
    const sock = {
      user: { id: '447700900130:7@s.whatsapp.net' },
      assertSessions: async () => void renewed++,
      sendNode: async () => {},
      sendPeerDataOperationMessage: async ({
        placeholderMessageResendRequest: keys = [],
      }: proto.Message.IPeerDataOperationRequestMessage) => void asked.push((keys ?? []).map((key) => key.messageKey!)),
    };
    return new AbsentMessages({
      ...{ sock: sock as unknown as BaileysSocket, signal: session.signal, answerMs },
      handOver: async (stanza, content) => {
        handedOver.push({ stanza, text: content?.conversation });
        await written.promise;
      },
    });
  }
  const stanzaOf = (id: string, content: BinaryNode[] = []): BinaryNode => {
    return { tag: 'message', attrs: { id, from: WRITER, type: 'text' }, content };
  };
  const about = () => ({ writer: WRITER, atMs: Date.now() });
  const answerOf = (...ids: string[]): proto.Message.IPeerDataOperationRequestResponseMessage => ({
    peerDataOperationResult: ids.map((id) => {
      const message = { conversation: `text of ${id}` };
      const found = { key: { remoteJid: WRITER, fromMe: false, id }, message };
      return {
        placeholderMessageResendResponse: { webMessageInfoBytes: proto.WebMessageInfo.encode(found).finish() },
      };
    }),
  });

  it('are written down before anything that changes them, also where that has begun', async () => {
    const absent = make();
    await absent.take(stanzaOf('3AONE'), about());
    const order: string[] = [];
    const answered = absent.answered(answerOf('3AONE')).then(() => order.push('written'));
    const overtaken = absent.overtaken(WRITER, '3AONE').then(() => order.push('changed'));
    await eventually(() => handedOver.length === 1, { everyMs: 1 });
    // Time for a change that does not wait.
    await absent.overtaken(WRITER, '3AOTHER');
    expect(order).to.deep.equal([]);
    written.resolve();
    await Promise.all([answered, overtaken]);
    expect(order).to.deep.equal(['written', 'changed']);
    expect(handedOver.map(({ text }) => text)).to.deep.equal(['text of 3AONE']);
  });

  it('take no more memory than their names do, however long what could not be decrypted is', async () => {
    const absent = make(30);
    written.resolve();
    const sealed: BinaryNode = { tag: 'enc', attrs: { type: 'msg' }, content: Buffer.alloc(1_000_000) };
    for (let i = 0; i < 3; i++) await absent.failed(stanzaOf('3ALONG', [sealed]), about());
    await eventually(() => handedOver.length === 1, { everyMs: 1 });
    expect(handedOver[0]!.stanza).to.deep.equal({ tag: 'message', attrs: stanzaOf('3ALONG').attrs });
  });

  it('have ids that can be told: no phone is asked for another', async () => {
    const absent = make();
    written.resolve();
    const id = 'A'.repeat(100_000);
    for (let i = 0; i < 3; i++) await absent.failed(stanzaOf(id), about());
    await absent.take(stanzaOf(id), about());
    await absent.take(stanzaOf('3AOTHER'), about());
    await eventually(() => asked.length > 0, { everyMs: 1 });
    expect(asked.flat().map((key) => key.id)).to.deep.equal(['3AOTHER']);
  });

  it('are told at the end of the session where the network has let go of them, and lists begin with no session that has ended', async () => {
    const absent = make();
    written.resolve();
    await absent.take(stanzaOf('3AKEPT'), about());
    for (let i = 0; i < 3; i++) await absent.failed(stanzaOf('3AGONE'), about());
    await absent.overtaken(WRITER, '3AKEPT');
    let isSettled = false;
    void absent.settled().then(() => {
      isSettled = true;
    });
    session.abort();
    await absent.ended;
    for (let i = 0; i < 3; i++) await absent.failed(stanzaOf('3ALATER'), about());
    expect(isSettled).to.equal(false);
    expect(handedOver.map(({ stanza }) => stanza.attrs.id)).to.deep.equal(['3AKEPT', '3AGONE', '3ALATER']);
  });

  it('are asked for in another new session an hour later', async () => {
    const absent = make(900);
    written.resolve();
    const { monotonicMs } = systemClock;
    let passedMs = 0;
    systemClock.monotonicMs = () => monotonicMs() + passedMs;
    try {
      for (const [id, afterMs, sessions] of [
        ['3AONE', 0, 1],
        ['3ATWO', 30 * 60_000, 1],
        ['3ATHREE', 61 * 60_000, 2],
      ] as const) {
        passedMs = afterMs;
        await absent.take(stanzaOf(id), about());
        await eventually(() => handedOver.some(({ stanza }) => stanza.attrs.id === id), { everyMs: 5 });
        expect(renewed, id).to.equal(sessions);
      }
    } finally {
      systemClock.monotonicMs = monotonicMs;
    }
  });
});
