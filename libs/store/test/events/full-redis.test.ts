import { LOG_START } from '@gateway/contracts/events/cursor';
import { EVENT_TYPES } from '@gateway/contracts/events/events';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { openEvents } from '@gateway/store/events/open-events';
import { readLog } from '@gateway/store/events/read-log';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { readReceived, recordReceived } from '@gateway/store/inbound/received-messages';
import { cancelSend, expireSend } from '@gateway/store/sends/change-send';
import { readRecipients, readSend } from '@gateway/store/sends/read-send';
import { accountForEvents, recipientKey } from '@gateway/testkit/chaos/events/account-for-events';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { expect } from 'chai';
import { ADDRESS, HOUR_MS, PEOPLE, useFullRedis } from '../support/full-redis.js';
import { renderEvents } from '../support/render-events.js';

describe('events on a full Redis', () => {
  const { store, ownership, fill, accept, settle } = useFullRedis();

  it('exist exactly when what they tell of does', async () => {
    await openEvents(store, 'main');
    const soon = Date.now() + HOUR_MS;
    const sends = [await accept(), await accept({ kind: 'otp' }), await accept(), await accept({ expiresAtMs: soon })];
    const [read, otp, cancelled, expired] = sends;
    await fill();
    expect(await accept().then(String, (error: Error) => error.message), 'nothing new').to.match(/OOM|full/);
    await settle(read!.tag, 'acked');
    await settle(read!.tag, 'read');
    await settle(otp!.tag, 'acked', [0]);
    await settle(cancelled!.tag, 'acked', [1]);
    await cancelSend(store, ADDRESS, cancelled!.messageId);
    await expireSend(store, ADDRESS, expired!.messageId, soon + 1);
    const message = { platformId: 'WROTE', jid: '1@lid', phone: PEOPLE[0]!, atMs: Date.now(), text: 'to a full Redis' };
    await recordReceived(store, ownership, { message, nowMs: Date.now() });
    expect(await findFullOutboxes(store, 'main')).to.have.length(1);
    for (const outbox of await findFullOutboxes(store, 'main')) await relayOutbox(store, outbox);

    const log = await readLog(store, 'main', LOG_START, { limit: 100 });
    if ('oldest' in log) throw new Error('gone');
    const told = await renderEvents(store, 'main', log.entries, { types: EVENT_TYPES });
    const recipients = new Map<string, { to: string; status: string; error: string | null }>();
    const finished = new Set<string>();
    for (const { messageId, tag } of sends) {
      const send = await readSend(store, ADDRESS, messageId);
      if (send?.counts.queued === 0 && send.kind !== 'otp') finished.add(messageId);
      for (const { index, to, status, errorCode } of await readRecipients(store, ADDRESS, tag, {
        from: 0,
        limit: PEOPLE.length,
      })) {
        recipients.set(recipientKey(messageId, index), { to, status, error: recipientErrorName(errorCode) ?? null });
      }
    }
    const statuses = [...recipients.values()].map(({ status }) => status);
    expect(new Set(statuses)).to.deep.equal(new Set(['read', 'sent', 'cancelled', 'expired']));
    const { text, phone: from = '' } = (await readReceived(store, ADDRESS, {
      receivedId: 'WROTE',
      nowMs: Date.now(),
    }))!;
    const events = told.map(({ event }) => event).filter(({ type }) => type !== 'messages.updated');
    const findings: string[] = [];
    const toBeTold = { recipients, finished, written: [{ from, platformId: 'WROTE', text }] };
    accountForEvents(toBeTold, events, (finding, what) => findings.push(`${finding} ${JSON.stringify(what)}`));
    expect(findings).to.deep.equal([]);
    const together = told.filter(({ event }) => event.type === 'messages.updated');
    expect(together.length, 'and together as well').to.be.above(0);
  });
});
