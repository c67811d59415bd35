import { escapeId, parseEventId } from '@gateway/contracts/events/event-id';
import { expect } from 'chai';

describe('ids of events', () => {
  it('say where to look for what they tell', () => {
    const device = 'k3m9x2pq';
    const told: [string, object][] = [
      [
        `evt_${device}_0F1E2D3C4B5A697887_delivered`,
        { kind: 'change', shortDeviceId: device, platformId: '3EB00F1E2D3C4B5A697887', status: 'delivered' },
      ],
      [
        `evt_${device}_0f1e2d3c4b5a69999_delivered`,
        { kind: 'keyless', shortDeviceId: device, tag: '0f1e2d3c4b5a6', index: 9999, status: 'delivered' },
      ],
      [
        `evt_msg_${device}0123456789abcdef_finished`,
        { kind: 'finished', messageId: `msg_${device}0123456789abcdef`, shortDeviceId: device },
      ],
      [`evt_${device}_3A-2e-x_received`, { kind: 'received', shortDeviceId: device, receivedId: '3A.x' }],
      [`evt_${device}_1795390921000_connecting`, { kind: 'timed', place: device, atMs: 1795390921000 }],
      [`evt_${device}_1795390921000_unrestricted`, { kind: 'timed', place: device, atMs: 1795390921000 }],
      [`evt_main_1795390921000-0_added`, { kind: 'logged', place: 'main', entry: '1795390921000-0' }],
      [`evt_main_1795390921000-3_disabled`, { kind: 'logged', place: 'main', entry: '1795390921000-3' }],
    ];
    for (const [id, parts] of told) expect(parseEventId(id), id).to.deep.equal(parts);
  });

  it('of several changes, of others, and made up say nothing', () => {
    const none = [
      ...[
        '',
        'evt_',
        `evt_${'a'.repeat(32)}`,
        'evt_k3m9x2pq_0F1E2D3C4B5A697887_queued',
        'evt_k3m9x2pq_0f1e2d3c4b5a6_sent',
        'evt_msg_x_finished',
      ],
      ...['evt_main_1795390921000_disabled', 'evt_wh_x_lists_1-0_gap'],
    ];
    for (const id of none) expect(parseEventId(id), id).to.equal(undefined);
  });

  it('bring back the id that a phone has chosen, whatever it is', () => {
    for (const receivedId of ['3EB0A', 'A-B', 'A.B', '-2e-', 'a_b', '\u0000', 'é', '😀', '\u{10ffff}']) {
      const id = `evt_k3m9x2pq_${escapeId(receivedId)}_received`;
      expect(parseEventId(id)).to.deep.include({ kind: 'received', receivedId });
    }
  });
});
