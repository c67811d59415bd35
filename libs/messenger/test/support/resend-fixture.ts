import type { ReadyContent } from '@gateway/contracts/content/message-content';
import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import type { OpenSessionOptions } from '@gateway/messenger/session/open-session';
import { eventually } from '@gateway/testkit/eventually';
import {
  type Device,
  makePlatformId,
  type ShownMessage,
  type TestSession,
  type useSessions,
} from './session-fixture.js';

const getMessage = async (): Promise<ReadyContent> => ({ kind: 'text', text: 'hello' });

/** Sessions whose messages phones cannot read. */
export function useResends(sessions: ReturnType<typeof useSessions>) {
  /** Platform id -> to whom it went. */
  const sentTo = new Map<string, string>();
  const recipientOf = async (id: string) => sentTo.get(id);
  const network = () => sessions.simulator.network;
  const mailboxOf = (phone: string) => [...network().accounts.ensure(phone).devices.values()][0]!.mailbox;

  /** In another process, as far as it remembers anything. */
  async function openAnew(device: Device, changes: Partial<OpenSessionOptions> = {}): Promise<TestSession> {
    const test = await sessions.open(device.keyStore, {
      getMessage,
      recipientOf,
      caches: createSessionCaches(),
      ...changes,
    });
    await test.next('open');
    return test;
  }

  async function send({ session }: TestSession, to: string): Promise<string> {
    // A stranger takes no message before there is a salt.
    await session.historyTaken;
    const platformId = makePlatformId();
    sentTo.set(platformId, to);
    const { ack } = await session.send({ to, platformId, content: { kind: 'text', text: 'hello' } });
    await ack;
    return platformId;
  }

  /** The phone cannot read it and asks when the connection is gone: what is known of its devices is forgotten by then. */
  async function sendUnreadable(device: Device, to: string): Promise<string> {
    const test = await openAnew(device);
    await send(test, to);
    await sessions.admin('POST', `phones/${to}/reinstall`);
    const { retryReceipts } = network().counters;
    sessions.fault('message', { closeBeforeAck: true }, { match: { recipient: to } });
    const platformId = await send(test, to);
    await test.next('closed');
    await eventually(() => network().counters.retryReceipts > retryReceipts);
    return platformId;
  }

  /** Waits until the phone shows it. */
  function shown(to: string, id: string): Promise<ShownMessage> {
    const find = async () => (await sessions.messagesOf(to)).find((row) => row.id === id && row.shown > 0);
    return eventually(find, { what: 'the phone shows it' }) as Promise<ShownMessage>;
  }

  /** Also of requests for messages: each under the name that it came under. */
  const allConfirmed = (phone: string) => eventually(() => mailboxOf(phone).size === 0, { what: 'all is confirmed' });

  return { network, mailboxOf, openAnew, sentTo, send, sendUnreadable, shown, allConfirmed };
}
