import { EventEmitter } from 'node:events';
import type { BaileysSocket, BinaryNode } from '@gateway/messenger/socket/baileys';
import { watchServerWords } from '@gateway/messenger/socket/server-words';
import { expect } from 'chai';

describe("the server's words at the end of a connection", () => {
  const wordsOf = (event: string, node: BinaryNode) => {
    const ws = new EventEmitter();
    const words = watchServerWords({ ws } as unknown as BaileysSocket);
    expect(words()).to.equal(undefined);
    ws.emit(event, node);
    return words();
  };
  const streamError = (content: BinaryNode['content'], attrs = {}) =>
    wordsOf('CB:stream:error', { tag: 'stream:error', attrs, ...(content !== undefined && { content }) });

  it('are names of stanzas, and text', () => {
    expect(streamError([{ tag: 'ack', attrs: {} }])).to.equal('ack');
    expect(streamError([{ tag: 'conflict', attrs: { type: 'device_removed' } }])).to.equal('conflict device_removed');
    expect(streamError([{ tag: 'text', attrs: {}, content: Buffer.from('bad query') }])).to.equal('text bad query');
    const failure = { tag: 'failure', attrs: { reason: '405', location: 'abc', message: 'client outdated' } };
    expect(wordsOf('CB:failure', failure)).to.equal('405 client outdated');
    expect(streamError(undefined, { code: '515' })).to.equal(undefined);
  });

  it('name no person, and are short', () => {
    const said = streamError([
      {
        tag: 'text',
        attrs: { type: '4917012345678@s.whatsapp.net' },
        content: `${'secret+key/'.repeat(9)} \u0007 ${'x '.repeat(200)}`,
      },
    ]);
    expect(said).to.not.match(/\d{5}|secret/);
    expect(said!.length).to.be.at.most(100);
  });
});
