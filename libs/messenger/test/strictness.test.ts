import { createHmac } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RecipientError } from '@gateway/messenger/session/session-errors';
import { Curve, configureSuccessfulPairing, initAuthCreds, proto } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { makeNumbers, makePlatformId, useSessions } from './support/session-fixture.js';
import { tapWire } from './support/wire-tap.js';

const text = { kind: 'text', text: 'hello' } as const;

describe('what a session does not accept', () => {
  const sessions = useSessions();

  it('an account signature that is false', () => {
    const creds = initAuthCreds();
    const account = Curve.generateKeyPair();
    const details = proto.ADVDeviceIdentity.encode({ rawId: 1, timestamp: 1, keyIndex: 1 }).finish();
    const signed = Buffer.concat([Buffer.from([6, 0]), details, creds.signedIdentityKey.public]);
    const pairWith = (accountSignature: Uint8Array) => {
      const identity = proto.ADVSignedDeviceIdentity.encode({
        details,
        accountSignature,
        accountSignatureKey: account.public,
      });
      const inner = identity.finish();
      const hmac = createHmac('sha256', Buffer.from(creds.advSecretKey, 'base64')).update(inner).digest();
      const content = proto.ADVSignedDeviceIdentityHMAC.encode({ details: inner, hmac }).finish();
      const parts = [
        { tag: 'device-identity', attrs: {}, content },
        { tag: 'device', attrs: { jid: '49:1@s.whatsapp.net', lid: '9:1@lid' } },
      ];
      return configureSuccessfulPairing(
        { tag: 'iq', attrs: { id: '1' }, content: [{ tag: 'pair-success', attrs: {}, content: parts }] },
        creds,
      );
    };
    const signature = Curve.sign(account.private, signed);
    expect(() => pairWith(signature)).not.to.throw();
    const tampered = Buffer.from(signature);
    tampered[11]! ^= 1;
    expect(() => pairWith(tampered)).to.throw('Failed to verify account signature');
  });

  it("a phone's keys with a wrong signature: nothing is encrypted for them", async () => {
    const test = await sessions.openLinked();
    const [forged, honest] = makeNumbers(2) as [string, string];
    sessions.simulator.network.phones.keyring.keysOf(forged).signedPreKey.signature[3]! ^= 1;
    const results = await test.session.lookUp([forged, honest]);
    expect(results.get(forged)).to.deep.equal({ error: 400 });
    expect(results.get(honest)).to.deep.equal({ exists: true });
    const error = await test.session.send({ to: forged, platformId: makePlatformId(), content: text }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).to.be.instanceOf(RecipientError);
    expect(await sessions.messagesOf(forged)).to.deep.equal([]);
  });

  it("a linked device's keys with a false signature: the phone still gets its message", async () => {
    const [test, recipient] = [await sessions.openLinked(), await sessions.openLinked()];
    const { jid } = await recipient.next('open');
    const id = Number(jid.match(/:(\d+)@/)?.[1]);
    const device = sessions.simulator.network.accounts.findDevice(recipient.phone, id)!;
    device.signedPreKey = { ...device.signedPreKey, signature: Buffer.alloc(64, 1) };
    const { ack } = await test.session.send({ to: recipient.phone, platformId: makePlatformId(), content: text });
    expect((await ack).kind).to.be.oneOf(['accepted', 'staleDevices']);
    expect((await test.session.lookUp([recipient.phone])).get(recipient.phone)).to.deep.equal({ exists: true });
    expect(test.options.caches.devices.get(recipient.phone)?.map((each) => each.device)).to.deep.equal([0]);
  });

  it('a frame that cannot be decrypted: the session ends, the process does not', async () => {
    const tap = await tapWire(sessions.simulator.socketUrl);
    const { keyStore } = await sessions.link();
    const { options } = await sessions.openLinked();
    const test = await sessions.open(keyStore, { endpoint: { ...options.endpoint, url: tap.url } });
    await test.next('open');
    tap.say(Buffer.from([0, 0, 20, ...Buffer.alloc(20, 7)]));
    expect(await test.next('closed')).to.include({ kind: 'reconnect' });
    await tap.close();
  });

  it('to crash the process, at whatever moment it is closed', async () => {
    const unhandled: unknown[] = [];
    const note = (thrown: unknown) => void unhandled.push(thrown);
    const others = process.listeners('unhandledRejection');
    process.removeAllListeners('unhandledRejection');
    process.on('unhandledRejection', note);
    const device = await sessions.link();
    for (let waitMs = 0; waitMs < 40; waitMs += 2) {
      const test = await sessions.open(device.keyStore);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      const sending = test.session
        .send({ to: makeNumbers(1)[0]!, platformId: makePlatformId(), content: text })
        .catch(() => undefined);
      if (waitMs % 4 === 0) sessions.simulator.restartSockets();
      await test.session.close();
      await (await sending)?.ack;
      expect(test.reports.filter(({ event }) => event === 'closed')).to.have.length(1);
    }
    // They are told in the turn after the one in which they came.
    await nextTurn();
    await nextTurn();
    process.off('unhandledRejection', note);
    for (const listener of others) process.on('unhandledRejection', listener);
    expect(unhandled).to.deep.equal([]);
  });
});
