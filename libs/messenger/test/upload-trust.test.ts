import { createSessionCaches } from '@gateway/messenger/lookup/session-caches';
import { type SocketSettings, socketSettings } from '@gateway/messenger/socket/socket-settings';
import type { MessengerTrust } from '@gateway/runtime/config/messenger-trust';
import { expect } from 'chai';

const REAL = 'wss://web.whatsapp.com/ws/chat';

describe('whom uploads trust', () => {
  const ignore = () => {};
  const logger: SocketSettings['logger'] = {
    debug: ignore,
    info: ignore,
    warn: ignore,
    error: ignore,
    child: () => logger,
  };
  const settingsOf = (url: string, trust: MessengerTrust) =>
    socketSettings({
      ...{ endpoint: { url, trust }, logger, caches: createSessionCaches() },
      auth: {} as SocketSettings['auth'],
      getMessage: async () => undefined,
    });

  it('is whom the system trusts, on the real network', () => {
    const { agent, fetchAgent, options } = settingsOf(REAL, { kind: 'production' });
    expect([agent, fetchAgent, options]).to.deep.equal([undefined, undefined, undefined]);
  });

  it('is anybody, where a stand-in was asked for: it signs its own certificates', () => {
    for (const trust of [{ kind: 'insecure' }, { kind: 'root', publicKey: Buffer.alloc(32) }] as MessengerTrust[]) {
      const { fetchAgent } = settingsOf('ws://127.0.0.1:1/ws/chat', trust);
      expect((fetchAgent as unknown as { options: object }).options).to.include({ rejectUnauthorized: false });
    }
  });
});
