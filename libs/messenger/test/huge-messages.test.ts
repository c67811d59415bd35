import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { node } from '@gateway/simulator/wire/nodes';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { type TestSession, useSessions } from './support/session-fixture.js';
import { watchTurns } from './support/watch-turns.js';
import { tapWire } from './support/wire-tap.js';

const MB = 1024 * 1024;
const PING = { from: 's.whatsapp.net', xmlns: 'urn:xmpp:ping', type: 'get' };

describe('a huge message of the network', () => {
  const answered = new Set<string>();
  const sessions = useSessions({
    trace: (direction, _, { attrs }) =>
      void (direction === 'in' && attrs.type === 'result' && answered.add(String(attrs.id))),
  });
  let tap: Awaited<ReturnType<typeof tapWire>>;
  let test: TestSession & { phone: string };

  async function openThrough(options = {}): Promise<void> {
    tap = await tapWire(sessions.simulator.socketUrl, options);
    const publicKey = Buffer.from(sessions.simulator.rootPublicKeyHex, 'hex');
    test = await sessions.openLinked({ endpoint: { url: tap.url, trust: { kind: 'root', publicKey } } });
  }
  beforeEach(() => answered.clear());
  afterEach(() => tap?.close());

  const device = () => [...sessions.simulator.network.accounts.ensure(test.phone).devices.values()][0]!;
  const say = (...stanzas: ReturnType<typeof node>[]) => {
    for (const stanza of stanzas) device().connection!.send(stanza);
  };

  it('is read in turns, in its order, and its end is heard before that of the connection', async function () {
    // Of CPU of the whole process: garbage that other tests left may be collected in it.
    this.retries(2);
    await openThrough();
    tap.hold();
    const ids = Array.from({ length: 4_000 }, (_, at) => `ping-${at}`);
    say(...ids.map((id) => node('iq', { ...PING, id })));
    device().connection!.endStream(515);
    await eventually(() => tap.heldBytes > ids.length * 40 && device().connection === undefined);
    const turns = watchTurns();
    tap.release();
    expect(await test.next('closed')).to.deep.equal({ kind: 'restart', code: 515 });
    expect(turns.stop().longestMs, 'ms of CPU').to.be.below(250);
  });

  it('loses nothing, wherever its bytes are cut', async () => {
    await openThrough();
    tap.hold();
    const ids = Array.from({ length: 100 }, (_, at) => `cut-${at}`);
    say(...ids.map((id) => node('iq', { ...PING, id })));
    // Together they are 37 bytes each, and whatever else the server says may come before them or later.
    await eventually(() => tap.heldBytes > ids.length * 35);
    tap.release(7);
    await eventually(() => ids.every((id) => answered.has(id)));
    expect([...answered].filter((id) => id.startsWith('cut-'))).to.deep.equal(ids);
  });

  for (const [how, bytes, options] of [
    ['frame', 1.1 * MB, {}],
    ['message', 5 * MB, {}],
    ['compressed message', 5 * MB, { perMessageDeflate: { threshold: 0 } }],
  ] as const) {
    it(`ends the session with a reason of its own when a ${how} is too large`, async () => {
      await openThrough(options);
      if (how === 'frame') say(node('notification', { from: PING.from, id: '1' }, Buffer.alloc(bytes)));
      else tap.say(Buffer.alloc(bytes));
      expect(await test.next('closed')).to.deep.equal({ kind: 'frameTooLarge' });
    });
  }

  it('inflates to a megabyte at most', async () => {
    // In a process of its own: here the library may have been loaded before its door.
    const script = `
      import '@gateway/messenger/socket/baileys';
      import { deflateSync } from 'node:zlib';
      import { decodeBinaryNode } from '@whiskeysockets/baileys/lib/WABinary/decode.js';
      const frame = (bytes) => Buffer.concat([Buffer.of(2), deflateSync(Buffer.concat([Buffer.of(248, 2, 5, 254, 0, bytes >> 16, bytes >> 8, bytes), Buffer.alloc(bytes)]))]);
      const { content } = await decodeBinaryNode(frame(1e6));
      const failure = await decodeBinaryNode(frame(1.1e6)).catch(({ code }) => code);
      console.log(content.length, failure, deflateSync('x').length);`;
    const args = ['--input-type=module', '--eval', script];
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
    expect(stdout.trim()).to.equal('1000000 ERR_BUFFER_TOO_LARGE 9');
  });
});
