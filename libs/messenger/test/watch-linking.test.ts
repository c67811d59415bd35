import { EventEmitter } from 'node:events';
import type { DisconnectOutcome } from '@gateway/messenger/codes/disconnect-outcomes';
import type { LinkMethod } from '@gateway/messenger/linking/link-method';
import { watchLinking } from '@gateway/messenger/linking/watch-linking';
import type { LinkingCode } from '@gateway/messenger/session/session-events';
import { type BaileysSocket, type BinaryNode, initAuthCreds } from '@gateway/messenger/socket/baileys';
import { DEFAULT_BROWSER } from '@gateway/messenger/socket/socket-settings';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

const SERVER = '@s.whatsapp.net';
const REFS = ['2@one', '2@two', '2@three'];

/** What the network says in the middle of a link, without a network. */
describe('what the network asks of a link', () => {
  let attempt: ReturnType<typeof startAttempt>;
  afterEach(() => attempt.end.abort());

  describe('by QR code', () => {
    beforeEach(() => {
      attempt = startAttempt({ method: 'qr' });
      attempt.sock.ev.emit('connection.update', { qr: 'the text of the library' });
    });

    for (const child of ['companion_reg_refresh', 'pair-device-rotate-qr']) {
      it(`shows the same reference with a new secret at once: ${child}`, async () => {
        await attempt.notify('companion_reg_refresh', child);
        const [first, second] = attempt.codes as [LinkingCode, LinkingCode];
        expect(refOf(first)).to.equal('2@one');
        expect(refOf(second)).to.equal('2@one');
        expect(secretOf(second)).to.equal(attempt.creds.advSecretKey);
        expect(secretOf(second)).to.not.equal(secretOf(first));
        expect(second).to.include({ scanAgain: true, expiresAtMs: first.expiresAtMs });
        expect(Buffer.from(secretOf(second)!, 'base64')).to.have.length(32);
      });
    }

    it('keeps the new secret, and that it is the second scan, in the codes that follow', async () => {
      await attempt.notify('companion_reg_refresh', 'companion_reg_refresh');
      attempt.sock.ev.emit('connection.update', { qr: 'the next one of the library, with the first secret' });
      const next = attempt.codes[2]!;
      expect(refOf(next)).to.equal('2@two');
      expect(secretOf(next)).to.equal(attempt.creds.advSecretKey);
      expect(next.scanAgain).to.equal(true);
    });

    it('keeps its secret when another than the server asks for a new one, or the notification asks for nothing', async () => {
      await attempt.notify('companion_reg_refresh', 'companion_reg_refresh', { from: '49170@s.whatsapp.net' });
      await attempt.notify('companion_reg_refresh', 'something_else');
      attempt.creds.account = {};
      await attempt.notify('companion_reg_refresh', 'companion_reg_refresh');
      expect(attempt.codes).to.have.length(1);
      expect(secretOf(attempt.codes[0]!)).to.equal(attempt.creds.advSecretKey);
    });

    it('is over when the account asks for its passkey, once that is confirmed', async () => {
      await attempt.notify('passkey_prologue_request', 'passkey_request_options', { from: '49170@s.whatsapp.net' });
      await attempt.notify('passkey_prologue_request', 'passkey_request_options');
      await eventually(() => attempt.ends.length > 0);
      expect(attempt.ends).to.deep.equal([{ kind: 'passkeyRequired' }]);
      expect(attempt.confirmedAtEnd).to.deep.equal([2]);
    });
  });

  describe('by typed code', () => {
    beforeEach(() => {
      attempt = startAttempt({ method: 'pairing', phone: '49170' });
      attempt.sock.ev.emit('connection.update', { qr: 'not shown' });
    });
    const shown = (count: number) => eventually(() => attempt.codes.length === count);
    const hello = (ref: string) => attempt.step('primary_hello', ref);

    it('shows no code before the network has accepted it', async () => {
      await eventually(() => attempt.questions.length === 1);
      expect(attempt.codes).to.have.length(0);
      attempt.accept('ref-1');
      await shown(1);
      expect(attempt.codes[0]).to.include({ kind: 'pairing' });
      expect(attempt.creds).to.include({ pairingCode: attempt.codes[0]!.value });
    });

    for (const [code, expected] of [
      [400, { kind: 'codeRefused', code: 400, why: 'unclear' }],
      [429, { kind: 'codeRefused', code: 429, why: 'later' }],
      [452, { kind: 'codeRefused', code: 452, why: 'never' }],
      [404, { kind: 'linkRefused', code: 404 }],
    ] as const) {
      it(`tells a refusal with ${code} from others, and shows nothing`, async () => {
        await eventually(() => attempt.questions.length === 1);
        attempt.refuse(code);
        await eventually(() => attempt.ends.length > 0);
        expect(attempt.ends).to.deep.equal([expected]);
        expect(attempt.codes).to.have.length(0);
        expect(attempt.creds.me).to.equal(undefined);
      });
    }

    it('leaves it to the connection to say how it ended, when that happens meanwhile', async () => {
      await eventually(() => attempt.questions.length === 1);
      attempt.questions[0]!.reject(1006);
      await new Promise(setImmediate);
      expect(attempt.ends).to.deep.equal([]);
    });

    it('asks for another code when the network wants it to, with keys of its own; not for another request', async () => {
      await eventually(() => attempt.questions.length === 1);
      attempt.accept('ref-1');
      await shown(1);
      const key = attempt.creds.pairingEphemeralKeyPair;
      await attempt.step('refresh_code', 'ref-of-another');
      await attempt.step('refresh_code', 'ref-1');
      await eventually(() => attempt.questions.length === 2);
      attempt.accept('ref-2');
      await shown(2);
      expect(attempt.codes[1]!.value).to.not.equal(attempt.codes[0]!.value);
      expect(attempt.creds.pairingEphemeralKeyPair).to.not.equal(key);
      expect(attempt.questions).to.have.length(2);
      expect(attempt.seenByLibrary, 'the library fails on it').to.equal(0);
      expect(attempt.confirmed).to.equal(2);
    });

    it('asks for no more than five of them', async () => {
      for (let round = 1; round <= 6; round++) {
        await eventually(() => attempt.questions.length === round);
        attempt.accept(`ref-${round}`);
        await shown(round);
        await attempt.step('refresh_code', `ref-${round}`);
      }
      expect(attempt.ends).to.deep.equal([{ kind: 'linkExpired' }]);
      expect(attempt.questions).to.have.length(6);
    });

    it('lets the library answer three tries of this code, and none of another', async () => {
      await eventually(() => attempt.questions.length === 1);
      await hello('ref-1');
      expect(attempt.seenByLibrary).to.equal(0);
      attempt.accept('ref-1');
      await shown(1);
      for (const ref of ['ref-0', 'ref-1', 'ref-1', 'ref-1', 'ref-1']) await hello(ref);
      expect(attempt.seenByLibrary).to.equal(3);
    });

    it('is over when the account asks for its passkey after a code was typed', async () => {
      await eventually(() => attempt.questions.length === 1);
      attempt.accept('ref-1');
      await shown(1);
      await hello('ref-1');
      await attempt.notify('passkey_prologue_request', 'passkey_request_options');
      await eventually(() => attempt.ends.length > 0);
      expect(attempt.ends).to.deep.equal([{ kind: 'passkeyRequired' }]);
      expect(attempt.confirmedAtEnd).to.deep.equal([2]);
    });

    it('keeps the secret that a typed code agrees on', async () => {
      await eventually(() => attempt.questions.length === 1);
      attempt.accept('ref-1');
      await shown(1);
      await hello('ref-1');
      const secret = attempt.creds.advSecretKey;
      await attempt.notify('companion_reg_refresh', 'companion_reg_refresh');
      expect(attempt.creds.advSecretKey).to.equal(secret);
      expect(attempt.codes).to.have.length(1);
    });
  });
});

const partsOf = ({ value }: LinkingCode) => value.split('#')[1]!.split(',');
const refOf = (code: LinkingCode) => partsOf(code)[0];
const secretOf = (code: LinkingCode) => partsOf(code)[3];

interface Question {
  resolve(answer: BinaryNode): void;
  reject(error: unknown): void;
}

function startAttempt(link: LinkMethod) {
  const creds = initAuthCreds();
  const end = new AbortController();
  const ws = new EventEmitter();
  const ev = new EventEmitter();
  const codes: LinkingCode[] = [];
  const ends: DisconnectOutcome[] = [];
  const questions: Question[] = [];
  const state = { confirmed: 0, seenByLibrary: 0, confirmedAtEnd: [] as number[] };
  ws.on('CB:notification', () => {
    state.seenByLibrary += 1;
    state.confirmed += 1;
  });
  const sock = {
    ws,
    ev,
    sendMessageAck: async () => {
      state.confirmed += 1;
    },
    query: () => new Promise((resolve, reject) => questions.push({ resolve, reject })),
  } as unknown as BaileysSocket;
  watchLinking({
    ...{ sock, auth: { creds }, link, browser: DEFAULT_BROWSER, signal: end.signal },
    onCode: (code) => void codes.push(code),
    onEnded: (outcome) => {
      ends.push(outcome);
      state.confirmedAtEnd.push(state.confirmed);
    },
  });
  ws.emit(
    'CB:iq,type:set,pair-device',
    node('iq', {}, [
      node(
        'pair-device',
        {},
        REFS.map((ref) => node('ref', {}, Buffer.from(ref))),
      ),
    ]),
  );
  const emit = async (type: string, from: string, child: BinaryNode) => {
    ws.emit('CB:notification', node('notification', { type, from, id: '1' }, [child]));
    // The library's own listeners are waited for.
    await new Promise(setImmediate);
  };
  return {
    ...{ creds, end, codes, ends, questions, sock: { ev } },
    get confirmed() {
      return state.confirmed;
    },
    get seenByLibrary() {
      return state.seenByLibrary;
    },
    confirmedAtEnd: state.confirmedAtEnd,
    notify: (type: string, child: string, { from = SERVER } = {}) => emit(type, from, node(child, {})),
    step: (stage: string, ref: string) =>
      emit('link_code_companion_reg', SERVER, node('link_code_companion_reg', { stage }, [refNode(ref)])),
    accept: (ref: string) =>
      questions.at(-1)!.resolve(node('iq', {}, [node('link_code_companion_reg', {}, [refNode(ref)])])),
    refuse: (code: number) => questions.at(-1)!.reject(Object.assign(new Error('refused'), { data: code })),
  };
}

const refNode = (ref: string) => node('link_code_pairing_ref', {}, Buffer.from(ref));

function node(tag: string, attrs: Record<string, string>, content?: BinaryNode['content']): BinaryNode {
  return { tag, attrs, ...(content !== undefined && { content }) };
}
