import { readReceipt } from '@gateway/messenger/inbound/read-receipt';
import { expect } from 'chai';

const node = (attrs: Record<string, string>, ids: string[] = []) => ({
  tag: 'receipt',
  attrs: { id: 'A', from: '1@lid', ...attrs },
  content:
    ids.length > 0 ? [{ tag: 'list', attrs: {}, content: ids.map((id) => ({ tag: 'item', attrs: { id } })) }] : [],
});

describe('reading a receipt', () => {
  for (const [type, kind] of [
    [undefined, 'delivered'],
    ['inactive', 'delivered'],
    ['read', 'read'],
    ['played', 'read'],
  ] as const) {
    it(`takes ${type ?? 'no type'} for ${kind}`, () => {
      expect(readReceipt(node(type ? { type } : {}), 9)).to.deep.equal({ platformIds: ['A'], kind, atMs: 9 });
    });
  }

  it('reads all ids and the time', () => {
    expect(readReceipt(node({ t: '1700000000' }, ['B', 'C']), 9)).to.deep.equal({
      platformIds: ['A', 'B', 'C'],
      kind: 'delivered',
      atMs: 1_700_000_000_000,
    });
  });

  it('passes over what is not about our messages', () => {
    for (const type of ['retry', 'sender', 'read-self', 'hist_sync', 'peer_msg', 'server-error', 'constructor']) {
      expect(readReceipt(node({ type }), 9), type).to.equal(undefined);
    }
  });
});
