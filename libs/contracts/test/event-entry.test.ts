import {
  compareCursors,
  compareEntries,
  entryAfter,
  LOG_START,
  parseCursor,
  sayCursor,
} from '@gateway/contracts/events/cursor';
import { openEntry, PARTS, readEntry, weightOf } from '@gateway/contracts/events/entry';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import { expect } from 'chai';

const number = (value: number, bytes: number) => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
};
const text = (value: string) => Buffer.concat([number(value.length, 1), Buffer.from(value)]);
const AT_MS = 1_760_000_000_123;
const TAG = '0123456789abc';
/** Of a list, in both versions. */
const HEADS = {
  1: (device: string, tag?: string) =>
    Buffer.concat([number(1, 1), number(1, 1), number(AT_MS, 6), text(tag ? `${device}/${tag}` : device)]),
  2: (device: string, tag?: string) =>
    Buffer.concat([
      ...[number(2, 1), number(AT_MS, 6), number(128 + (tag ? 64 : 0) + device.length, 1), Buffer.from(device)],
      Buffer.from(tag ? `0${tag}` : '', 'hex'),
    ]),
} as const;
const entry = (device: string, ...parts: Buffer[]) => Buffer.concat([HEADS[2](device), ...parts]);
const part = (kind: keyof typeof PARTS, ...fields: Buffer[]) => Buffer.concat([number(PARTS[kind], 1), ...fields]);
const code = (status: (typeof RECIPIENT_STATUSES)[number]) => RECIPIENT_STATUSES.indexOf(status);

/** Entries stay for a week: those of the version before are read by the next one. */
describe('an event as Redis keeps it', () => {
  it('has the changes of a send, one by one or as bits, and its counts at the end', () => {
    const changes = part(
      'changes',
      number(2, 2),
      ...[number(3, 2), number(code('sent'), 1)],
      ...[number(4, 2), number(128 + code('failed'), 1), number(463, 2)],
    );
    const moved = part(
      'moved',
      number(code('read'), 1),
      number(7, 2),
      number(2, 2),
      number(2, 2),
      Buffer.of(0b101, 0x80),
    );
    const one = part('change', number(700, 2), number(code('delivered'), 1));
    const finished = part('finished', ...RECIPIENT_STATUSES.map((_, i) => number(i + 1, 2)));
    const ended = part('ended', number(0b100010, 1), number(9_000, 2), number(12, 2));
    const counts = { ...Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, 0])), sent: 9_000, expired: 12 };
    const parts = [changes, moved, finished, one, ended];
    const read = readEntry(Buffer.concat([HEADS[2]('shop', TAG), ...parts]));
    expect(readEntry(Buffer.concat([HEADS[1]('shop', TAG), ...parts])), 'of the former version').to.deep.equal(read);
    expect(read).to.deep.equal({
      ...{ class: 'lists', atMs: AT_MS, device: 'shop', tag: TAG },
      parts: [
        {
          kind: 'changes',
          changes: [
            { index: 3, status: 'sent', errorCode: 0 },
            { index: 4, status: 'failed', errorCode: 463 },
          ],
        },
        { kind: 'changes', changes: [16, 18, 31].map((index) => ({ index, status: 'read', errorCode: 7 })) },
        { kind: 'finished', counts: Object.fromEntries(RECIPIENT_STATUSES.map((status, i) => [status, i + 1])) },
        { kind: 'changes', changes: [{ index: 700, status: 'delivered', errorCode: 0 }] },
        { kind: 'finished', counts },
      ],
    });
    expect(read.parts.map(weightOf)).to.deep.equal([2, 3, 1, 1, 1]);
  });

  it('has what became of a device, with what is known of it only', () => {
    const fields = (...of: string[]) => of.map(text);
    const connected = part('device', ...fields('connected', '', '4917', 'Shop'), number(0, 6));
    const waiting = part('device', ...fields('connecting', 'replaced', '', ''), number(AT_MS, 6));
    const restricted = part('restriction', text('new_chat_cap'), number(AT_MS, 6));
    const free = part('restriction', text(''), number(0, 6));
    const received = part('received', text('3EB0'));
    expect(readEntry(entry('shop', connected, waiting, restricted, free, received))).to.deep.equal({
      ...{ class: 'lists', atMs: AT_MS, device: 'shop' },
      parts: [
        { kind: 'device', status: 'connected', phone: '4917', name: 'Shop' },
        { kind: 'device', status: 'connecting', reason: 'replaced', notBeforeMs: AT_MS },
        { kind: 'restriction', restriction: 'new_chat_cap', untilMs: AT_MS },
        { kind: 'restriction' },
        { kind: 'received', receivedId: '3EB0' },
      ],
    });
  });

  it('has what concerns the workspace: opt-outs, what is missing, and endpoints', () => {
    const optOuts = part('optOuts', number(1, 1), number(0, 1), number(2, 2), text('447700900001'), text('-12345'));
    const gap = part('gap', number(70_000, 4));
    const webhook = (status: number) =>
      part('webhook', number(2, 1), text('wh_1'), number(AT_MS, 6), number(status, 2));
    const read = openEntry(entry('', optOuts, gap, webhook(503), webhook(0)));
    const told = { kind: 'webhook', state: 'disabled', webhookId: 'wh_1', sinceMs: AT_MS };
    expect(read.parts.slice(1)).to.deep.equal([{ kind: 'gap', missing: 70_000 }, { ...told, lastStatus: 503 }, told]);
    expect(read.parts[0]).to.include({ kind: 'optOuts', isAdded: true });
    expect(read.parts[0]).to.deep.include({ phones: ['447700900001', '12345@lid'] });
    expect(weightOf(read.parts[0]!)).to.equal(2);
    expect(read).to.not.have.any.keys('device', 'tag');
    expect(openEntry(Buffer.concat([HEADS[1](''), gap])).parts, 'of the former version').to.deep.equal([read.parts[1]]);
  });

  it('is refused when it is of another version, has an unknown part, or is cut off', () => {
    const whole = entry('shop', part('received', text('3EB0')));
    expect(() => readEntry(Buffer.concat([number(3, 1), whole.subarray(1)]))).to.throw('version 3');
    expect(() => openEntry(Buffer.concat([number(3, 1), whole.subarray(1)]))).to.throw('version 3');
    expect(() => readEntry(entry('shop', number(99, 1)))).to.throw('part 99');
    for (let length = 0; length < whole.length; length++) {
      // There it ends with its head: an entry without parts.
      if (length !== entry('shop').length) expect(() => readEntry(whole.subarray(0, length)), `${length}`).to.throw();
    }
  });
});

describe('a cursor in the log', () => {
  it('is read back, and nothing else is taken for one', () => {
    expect(parseCursor('0')).to.deep.equal(LOG_START);
    for (const cursor of ['17-0', '17-3.12']) expect(sayCursor(parseCursor(cursor)!)).to.equal(cursor);
    expect(parseCursor('17-3.12')).to.deep.equal({ entry: '17-3', offset: 12 });
    for (const cursor of ['', '17', '17-', '-1', '17-3.', '17-3.123456', ' 17-3', '17-3 ', '1'.repeat(16).concat('-1')])
      expect(parseCursor(cursor), cursor).to.equal(undefined);
  });

  it('has an order: by time, then by number, then by place in the entry', () => {
    const cursors = ['0', '9-1', '9-1.2', '9-1.10', '9-2', '9-10', '10-0'];
    expect(cursors.toReversed().sort(compareCursors)).to.deep.equal(cursors);
    expect(compareEntries('9-2', '9-2')).to.equal(0);
    expect(entryAfter('9-10')).to.equal('9-11');
  });
});
