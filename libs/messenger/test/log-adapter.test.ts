import { adaptLogger } from '@gateway/messenger/socket/log-adapter';
import type { LogFields, Logger } from '@gateway/runtime/logs/logger';
import { expect } from 'chai';

describe("the library's log", () => {
  const lines: { level: string; message: string; fields: LogFields | undefined }[] = [];
  const write = (level: string) => (message: string, fields?: LogFields) => void lines.push({ level, message, fields });
  const logger: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => logger,
  };
  beforeEach(() => lines.splice(0));

  it('comes at debug, whatever its level was', () => {
    adaptLogger(logger).error({ count: 3, ok: true }, 'something failed');
    expect(lines).to.deep.equal([
      {
        level: 'debug',
        message: 'baileys',
        fields: { severity: 'error', says: 'something failed', count: 3, ok: true },
      },
    ]);
  });

  it('lets no number, id, key, text or stanza through', () => {
    const secrets = [
      '4917012345678',
      'hello world',
      'c2VjcmV0IGtleSBtYXRlcmlhbA',
      '3EB0AABBCCDDEEFF0011AA',
      '123456@lid',
    ];
    const node = { tag: 'message', attrs: { id: secrets[3], to: secrets[4] }, content: secrets[1] };
    const adapter = adaptLogger(logger).child({ jid: secrets[0] });
    adapter.info(
      { node, jid: secrets[0], me: { id: secrets[0] }, msgId: secrets[3], key: Buffer.from('k') },
      `sent to ${secrets[0]}`,
    );
    adapter.warn({ err: new Error(`no session for ${secrets[0]}, key ${secrets[2]}`), trace: secrets[1] }, 'failed');
    adapter.error(`bad ${secrets[3]}`);
    adapter.debug({ node }, secrets[1]);
    adapter.trace({ node }, secrets[1]);
    const text = JSON.stringify(lines);
    for (const secret of secrets) expect(text).not.to.include(secret);
    expect(lines).to.have.length(3);
  });

  it('never asks the library to spell out stanzas', () => {
    expect(adaptLogger(logger).level).not.to.be.oneOf(['trace', 'debug']);
  });
});
