import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { GatewayError } from '@gateway/runtime/errors';
import { DoorbellListener, ringDoorbell } from '@gateway/store/core/doorbells';
import { readDeviceState, requestLink } from '@gateway/store/devices/device-state';
import { type RecipientEvent, recordResults } from '@gateway/store/sends/change-send';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { DEFAULT } from './support/device-owner.js';
import { startTestApi, type TestApi, type TestApiOptions } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const NOT_CONFIRMED = { success: false, error: 'Not confirmed, and may still happen' };
const OTP = { phone: '447700900001', code: '00731952' };
const SOON = { everyMs: 5, timeoutMs: 5_000 };

describe('what is told where replicas are waited for', () => {
  const { space, api, owner } = useTestApi({ linked: true });
  const others: TestApi[] = [];
  /** Whether replicas have what they are asked about. */
  let isConfirmed: () => boolean;
  /** The keys about which they were asked. */
  let asked: string[];
  beforeEach(() => {
    isConfirmed = () => true;
    asked = [];
    askReplicas(api);
  });
  afterEach(async () => {
    for (const other of others.splice(0)) await other.close();
  });

  function askReplicas({ store }: TestApi): void {
    const confirmWrites = async (key: string) => {
      asked.push(key);
      if (!isConfirmed()) throw new GatewayError({ code: 'not_confirmed', message: 'no replica has it' });
    };
    Object.assign(store, { asksReplicas: true, confirmWrites });
  }

  async function apiThatWaits(waits: NonNullable<TestApiOptions['waits']>): Promise<TestApi> {
    const other = await startTestApi(space, { waits });
    others.push(other);
    askReplicas(other);
    return other;
  }

  describe('by POST /disconnect', () => {
    const disconnect = (target: TestApi = api) => target.call('POST', '/disconnect');
    const state = () => readDeviceState(space.store, DEFAULT);
    const isAsked = () => eventually(async () => (await state()).desired?.want === 'unlinked', SOON);

    it('is not that the account is disconnected before replicas have the request, nor by one that joins it', async () => {
      await space.store.redis.set(deviceKeys(space.store.space, DEFAULT).creds, 'keys of an account');
      isConfirmed = () => false;
      for (const request of ['the first', 'one that joins it']) {
        const { status, body, headers } = await disconnect();
        expect(status, request).to.equal(503);
        expect(body, request).to.deep.equal(NOT_CONFIRMED);
        expect(headers.get('retry-after'), request).to.equal('2');
      }
      expect((await state()).desired?.want, 'it may still happen').to.equal('unlinked');
      isConfirmed = () => true;
      const repeat = disconnect();
      await owner.observe({ status: 'disconnected', reason: 'disconnected', logout: 'confirmed' });
      expect((await repeat).body.message).to.equal('Disconnected and logged out.');
    });

    it('is heard of at once by its owner, also where replicas do not have it', async () => {
      const doorbells = await DoorbellListener.listen(space.clients.subscriber, space.store.space);
      const heard: string[] = [];
      const end = doorbells.on(({ topic }) => void heard.push(topic));
      isConfirmed = () => false;
      expect((await disconnect()).body).to.deep.equal(NOT_CONFIRMED);
      await eventually(() => heard.includes('desired'), SOON);
      end();
    });

    it('is not that nothing was linked before replicas have that', async () => {
      const gone = disconnect();
      await isAsked();
      await owner.observe({ status: 'disconnected', reason: 'disconnected', logout: 'unconfirmed' });
      await gone;
      isConfirmed = () => false;
      expect((await disconnect()).body).to.deep.equal(NOT_CONFIRMED);
      isConfirmed = () => true;
      expect((await disconnect()).body.message).to.equal('No account was linked to this device.');
    });

    for (const logout of ['confirmed', 'unconfirmed'] as const) {
      it(`is how the logout ended (${logout}) once replicas have that`, async () => {
        let isTold = false;
        const answer = disconnect().finally(() => {
          isTold = true;
        });
        await isAsked();
        await eventually(() => asked.length > 0, SOON);
        isConfirmed = () => false;
        const before = asked.length;
        await owner.observe({ status: 'disconnected', reason: 'disconnected', logout });
        await eventually(() => asked.length > before + 1, SOON);
        expect(isTold).to.equal(false);
        isConfirmed = () => true;
        expect((await answer).body.message).to.match(logout === 'confirmed' ? /logged out\.$/ : /could not be told/);
      });
    }

    it('is that the logout goes on, where replicas have the request and no end of it', async () => {
      const hasty = await apiThatWaits({ logoutMs: 300 });
      const answer = disconnect(hasty);
      await isAsked();
      await eventually(() => asked.length > 0, SOON);
      isConfirmed = () => false;
      await owner.observe({ status: 'disconnected', reason: 'disconnected', logout: 'confirmed' });
      const { status, body } = await answer;
      expect(status).to.equal(200);
      expect(body.message).to.include('has not confirmed yet');
    });

    it('is no success where the next master does not know the request', async () => {
      const { desired } = deviceKeys(space.store.space, DEFAULT);
      const linked = await space.store.redis.hgetall(desired);
      const answer = disconnect();
      await isAsked();
      await eventually(() => asked.length > 0, SOON);
      await space.store.redis.multi().del(desired).hset(desired, linked).exec();
      await ringDoorbell(space.store, { topic: 'desired', ...DEFAULT });
      expect((await answer).body).to.deep.equal({ success: false, error: 'Service unavailable' });
    });

    it('is that the logout goes on when a new link is asked for: that begins with it', async () => {
      const answer = disconnect();
      await isAsked();
      await requestLink(space.store, DEFAULT, { attemptId: 'att_new', method: 'qrCode', forceNew: false });
      await ringDoorbell(space.store, { topic: 'desired', ...DEFAULT });
      expect((await answer).body.message).to.include('has not confirmed yet');
    });
  });

  describe('by POST /otp', () => {
    const otp = (target: TestApi = api) =>
      target.call('POST', '/otp', { json: OTP, token: api.token, headers: { 'idempotency-key': 'login-7' } });
    const recordOf = (messageId: string) => sendKeys(space.store.space, DEFAULT, parseMessageId(messageId)!.tag).record;
    const questions = (messageId: string) => asked.filter((key) => key === recordOf(messageId)).length;

    /** Accepted, with replicas that have it. */
    async function firstSend(): Promise<string> {
      const messageId = await eventually(async () => (await listOpenSends(space.store, DEFAULT))[0], SOON);
      await eventually(() => questions(messageId) > 0, SOON);
      return messageId;
    }

    async function settle(messageId: string, event: RecipientEvent['event'], errorCode = 0): Promise<void> {
      const { tag } = parseMessageId(messageId)!;
      const events = [{ recipient: 0, part: 0, event, errorCode }];
      await recordResults(space.store, owner.ownership, { tag, nowMs: Date.now(), events });
      await ringDoorbell(space.store, { topic: 'results', ...DEFAULT });
    }

    /** The code is not sent, and replicas do not know. */
    async function failUnheard(): Promise<string> {
      const messageId = await firstSend();
      isConfirmed = () => false;
      await settle(messageId, 'failed', 403);
      return messageId;
    }

    it('is that it was not sent once replicas have that', async () => {
      let isTold = false;
      const answer = otp().finally(() => {
        isTold = true;
      });
      const messageId = await failUnheard();
      await eventually(() => questions(messageId) > 2, SOON);
      expect(isTold).to.equal(false);
      isConfirmed = () => true;
      const { status, body } = await answer;
      expect(status).to.equal(422);
      expect(body.details).to.deep.equal([{ path: ['phone'], message: 'network_403' }]);
    });

    it('is no failure that replicas do not have, and a repeat waits for the same code', async () => {
      const hasty = await apiThatWaits({ otpMs: 300 });
      const answer = otp(hasty);
      await failUnheard();
      const { status, body } = await answer;
      expect(status).to.equal(503);
      expect(body).to.deep.equal(NOT_CONFIRMED);
      isConfirmed = () => true;
      expect((await otp(hasty)).status, 'the key still stands for it').to.equal(422);
      expect(await listOpenSends(space.store, DEFAULT)).to.deep.equal([]);
    });

    it('is no success, to be repeated for a day, where Redis goes away after it had failed', async () => {
      const hasty = await apiThatWaits({ otpMs: 300 });
      const answer = otp(hasty);
      await firstSend();
      isConfirmed = () => {
        throw new Error('Connection is closed.');
      };
      const { tag } = parseMessageId((await listOpenSends(space.store, DEFAULT))[0]!)!;
      const events = [{ recipient: 0, part: 0, event: 'failed' as const, errorCode: 403 }];
      await recordResults(space.store, owner.ownership, { tag, nowMs: Date.now(), events });
      expect((await answer).body).to.deep.equal({ success: false, error: 'Service unavailable' });
      isConfirmed = () => true;
      expect((await otp(hasty)).status).to.equal(422);
    });

    it('is that it goes out where the next master does not know that it was not sent', async () => {
      const answer = otp();
      const record = recordOf(await firstSend());
      const queued = await space.store.redis.dumpBuffer(record);
      const messageId = await failUnheard();
      await eventually(() => questions(messageId) > 1, SOON);
      await space.store.redis.restore(record, 0, queued, 'REPLACE');
      isConfirmed = () => true;
      await settle(messageId, 'acked');
      expect((await answer).status).to.equal(200);
    });

    it('is no failure whose repeat would not be a new try', async () => {
      const answer = otp();
      const messageId = await firstSend();
      // Of the failure, and not of the key that is free again.
      const before = asked.length;
      isConfirmed = () => asked.length === before + 1;
      await settle(messageId, 'failed', 403);
      expect((await answer).body).to.deep.equal(NOT_CONFIRMED);
    });

    it('is that it was sent without another question: the phone has it, whichever master knows', async () => {
      const answer = otp();
      const messageId = await firstSend();
      isConfirmed = () => false;
      await settle(messageId, 'acked');
      expect((await answer).status).to.equal(200);
      expect(questions(messageId)).to.equal(1);
    });
  });
});
