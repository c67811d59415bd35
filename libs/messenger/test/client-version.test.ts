import { EventEmitter } from 'node:events';
import { BUILT_IN_VERSION, isClientVersion, versionNumbers } from '@gateway/contracts/devices/client-version';
import { watchDeadline } from '@gateway/messenger/session/watch-deadline';
import { type BaileysSocket, DEFAULT_CONNECTION_CONFIG } from '@gateway/messenger/socket/baileys';
import { expect } from 'chai';

describe('the version of the client, at the network', () => {
  it('is the one of the library where no other is set', () => {
    expect(versionNumbers(BUILT_IN_VERSION)).to.deep.equal(DEFAULT_CONNECTION_CONFIG.version);
  });

  it('is three numbers', () => {
    for (const version of ['2.3000.1', '2.3000.1043857760']) expect(isClientVersion(version), version).to.equal(true);
    for (const version of ['2.3000', '2.3000.x', '2.3000.1.1', ' 2.3000.1', '']) {
      expect(isClientVersion(version), version).to.equal(false);
    }
  });

  it('ends at the date that the network announces; what cannot be read takes nothing back', () => {
    const heard: (number | undefined)[] = [];
    const ws = new EventEmitter();
    watchDeadline({ ws } as unknown as BaileysSocket, (expiresAtMs) => heard.push(expiresAtMs));
    const say = (attrs: Record<string, string>) =>
      ws.emit('CB:ib,,client_expiration', { tag: 'ib', attrs: {}, content: [{ tag: 'client_expiration', attrs }] });
    for (const t of ['1800000000', 'soon', '-1', '', '1.5', '9000000000000', '1', '2600000000']) say({ t });
    say({});
    expect(heard).to.deep.equal([1_800_000_000_000, undefined]);
  });
});
