import { parseMessageId } from '@gateway/contracts/ids';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { createVault } from '@gateway/store/core/vault';
import { setPace } from '@gateway/store/devices/devices';
import { readRecipients } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { readKeyRings } from '@gateway/testkit/redis-space';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';
import { runCli } from '../../cli/test/support/run-cli.js';

const ACCOUNT = '491700000331';
const ADDRESS = { workspace: 'main', device: 'default' };
const [OLD_ACCOUNTS, OLD_CONTENTS] = [`old:${'1a'.repeat(32)}`, `old:${'1b'.repeat(32)}`];
const [NEW_ACCOUNTS, NEW_CONTENTS] = [`new:${'2a'.repeat(32)}`, `new:${'2b'.repeat(32)}`];
const settings = (...pairs: [string, string][]) => ({
  CREDENTIAL_KEYS: pairs.map(([accounts]) => accounts).join(),
  CONTENT_KEYS: pairs.map(([, contents]) => contents).join(),
});
const OLD: [string, string] = [OLD_ACCOUNTS, OLD_CONTENTS];
const NEW: [string, string] = [NEW_ACCOUNTS, NEW_CONTENTS];
/** All that there is after the others were lost. */
const LOST: [string, string] = [`other:${'3a'.repeat(32)}`, `other:${'3b'.repeat(32)}`];

describe('changing the encryption keys, in three steps', () => {
  const { gateway, ...fixture } = useKeys();

  it('loses and fails no message of a list that runs meanwhile', async () => {
    // The test itself looks at codes in Redis.
    fixture.parts().space.store.vault = createVault(readKeyRings(settings(OLD, NEW, LOST)));
    await gateway().link(ACCOUNT);
    const { store } = fixture.parts().space;
    await setPace(store, ADDRESS, { messagesPerMinute: 60, jitter: 0, burst: 1 });
    await ringDoorbell(store, { topic: 'sends', ...ADDRESS });
    const list = await fixture.send(makeNumbers(300), 'hello');
    const progress = () => gateway().waitForSend(list, {}, { query: '?limit=1' });
    await eventually(async () => (await progress()).counts.queued < 300, { everyMs: 1_100 });

    // The rollout is too fast: an api encrypts with a key that no sender has.
    const early = await sendEarly(makeNumbers(2, 1));
    const { tag } = parseMessageId(early)!;
    const waits = async () => {
      const recipients = await readRecipients(store, ADDRESS, tag, { from: 0, limit: 2 });
      return recipients.every(
        ({ status, errorCode }) => `${status} ${recipientErrorName(errorCode)}` === 'queued awaiting_key',
      );
    };
    await eventually(waits);
    // 1. The new key behind the old one: everybody can open what it will seal.
    await gateway().roll(settings(OLD, NEW));
    // 2. In front: it seals from now on. Then what the old one has sealed is sealed again.
    await gateway().roll(settings(NEW, OLD));
    const second = await fixture.send(makeNumbers(5, 2), 'hello again');
    expect((await cli('keys retire old --ring contents')).stderr).to.include('values are encrypted with old');
    expect(await cli('keys reseal --json')).to.deep.include({ code: 0, stderr: '' });
    const used = JSON.parse((await cli('keys status --json')).stdout) as {
      keyId: string;
      use: string;
      values: number;
    }[];
    expect(used.filter(({ values }) => values > 0).map(({ keyId, use }) => `${keyId} ${use}`)).to.deep.equal([
      'new seals',
      'new seals',
    ]);
    // 3. Nothing needs the old one any more.
    for (const ring of ['credentials', 'contents']) {
      const { stdout, stderr } = await cli(`keys retire old --ring ${ring} --json`);
      expect(stderr).to.equal('');
      expect(JSON.parse(stdout)).to.include({ key: 'old', ring, retired: true });
    }
    await gateway().roll(settings(NEW));
    expect((await progress()).counts.queued, 'the list still runs').to.be.greaterThan(0);
    await setPace(store, ADDRESS, undefined);
    await ringDoorbell(store, { topic: 'sends', ...ADDRESS });

    for (const [messageId, count] of [
      [list, 300],
      [early, 2],
      [second, 5],
    ] as const) {
      await gateway().waitForSend(
        messageId,
        { queued: 0, sent: 0, failed: 0, expired: 0, cancelled: 0 },
        { query: '?limit=1' },
      );
      const { counts } = (await gateway().call('GET', `/messages/${messageId}?limit=1`)).body;
      expect(counts.delivered + counts.read).to.equal(count);
    }
    expect(fixture.shown(ACCOUNT, 'hello').sort()).to.deep.equal(makeNumbers(300).sort());
    expect(fixture.shown(ACCOUNT, 'early').sort()).to.deep.equal(makeNumbers(2, 1).sort());
    expect(fixture.shown(ACCOUNT, 'hello again').sort()).to.deep.equal(makeNumbers(5, 2).sort());
  });

  it('links the same device again when the old keys are lost', async () => {
    await gateway().roll(settings(LOST));
    await eventually(async () => (await gateway().call('GET', '/status')).body.reason === 'keys_unreadable', {
      everyMs: 3_100,
    });
    const { body } = await gateway().call('POST', '/connect?rawQrCode=true&forceNew=true');
    await gateway().scan(ACCOUNT, body.qrCode);
    await gateway().waitForStatus('connected');
    const messageId = await fixture.send(makeNumbers(3, 3), 'back again');
    await gateway().waitForSend(messageId, { queued: 0, sent: 0, failed: 0 });
    expect(fixture.shown(ACCOUNT, 'back again').sort()).to.deep.equal(makeNumbers(3, 3).sort());
  });

  async function sendEarly(to: string[]): Promise<string> {
    const api = await gateway().addApi(settings(NEW, OLD));
    const { port } = await api.waitForLog((line) => line.message === 'api listens');
    const answer = await fetch(`http://127.0.0.1:${port}/api/messenger/v1/send`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await gateway().tokenOf('default')}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ to, text: 'early' }),
    });
    const { messageId } = (await answer.json()) as { messageId: string };
    await api.stop();
    return messageId;
  }

  const cli = (args: string) => runCli(fixture.parts().space, args.split(' '), { env: settings(NEW, OLD) });
});

function useKeys() {
  const fixture = useGateway({
    env: { ...settings(OLD), SESSION_TTL_MS: '2000' },
  });
  return { gateway: () => fixture.gateway, parts: () => fixture, send: fixture.send, shown: fixture.shown };
}
