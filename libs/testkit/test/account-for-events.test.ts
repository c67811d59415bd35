import type { GatewayEvent } from '@gateway/contracts/events/events';
import {
  accountForEvents,
  changeKey,
  changesTold,
  countAltered,
  type DeviceStanding,
  recipientKey,
  type ToBeTold,
} from '@gateway/testkit/chaos/events/account-for-events';
import { isToldRight } from '@gateway/testkit/chaos/events/audience';
import { expect } from 'chai';

describe('the account of what a chaos run told', () => {
  const toBeTold: ToBeTold = {
    recipients: new Map([
      [recipientKey('m', 0), { to: '1', status: 'read', error: null }],
      [recipientKey('m', 1), { to: '2', status: 'failed', error: 'network_463' }],
      [recipientKey('o', 0), { to: '3', status: 'sent', error: null }],
      [recipientKey('w', 0), { to: '4', status: 'queued', error: null }],
    ]),
    finished: new Set(['m', 'o']),
    written: [{ from: '5', platformId: '3A', text: 'hello' }],
  };
  const event = (type: string, data: object, id = `${type} ${JSON.stringify(data)}`) =>
    ({ id, type, version: 1, timestamp: '', device: 'd', data }) as GatewayEvent;
  const row = (messageId: string, index: number, to: string, status: string, error: string | null = null) => ({
    ...{ id: `${messageId}${index}${status}`, messageId, index, to, status, error },
  });
  const [sent, read] = [row('m', 0, '1', 'sent'), row('m', 0, '1', 'read')];
  const ended = (messageId: string) => event('send.finished', { messageId }, `evt_${messageId}_finished`);
  const received = (platformMessageId: string, text: string) =>
    event('message.received', { platformMessageId, from: '5', content: { type: 'text', text } });
  const story = [
    event('messages.updated', { changes: [sent, row('m', 1, '2', 'failed', 'network_463')] }),
    event('otp.sent', row('o', 0, '3', 'sent')),
    ended('o'),
    event('message.read', read),
    ended('m'),
    received('3A', 'hello'),
    event('device.connected', {}),
  ];
  const right = { told: 7, lost: 0, invented: 0, disordered: 0, duplicates: 0 };
  const without = (at: number) => story.filter((_, i) => i !== at);
  const wrongIn = (events: readonly GatewayEvent[]) => accountForEvents(toBeTold, events);

  it('finds nothing wrong in what is whole and in order', () => {
    const found: unknown[] = [];
    expect(accountForEvents(toBeTold, story, (...one) => found.push(one))).to.deep.equal(right);
    expect(found).to.deep.equal([]);
  });

  it('finds each single thing that is left out, and gaps', () => {
    expect(wrongIn(without(0))).to.include({ lost: 1 });
    for (const at of [1, 2, 3, 4, 5]) expect(wrongIn(without(at)), String(at)).to.include({ told: 6, lost: 1 });
    expect(wrongIn([...story, event('events.gap', { missing: null })])).to.include({ lost: 1 });
  });

  it('finds a status that was passed over on the way, and one that there never was, where all of them are known', () => {
    const steps = (index: number, ...statuses: string[]) =>
      statuses.map((status) => changeKey({ messageId: 'm', index, status } as never));
    const wrongOf = (changes: readonly string[]) => accountForEvents({ ...toBeTold, changes: new Set(changes) }, story);
    const all = [...steps(0, 'sent', 'read'), ...steps(1, 'failed'), 'o 0 sent'];
    expect(wrongOf(all)).to.deep.equal(right);
    expect(wrongOf([...all, ...steps(0, 'delivered')])).to.deep.equal({ ...right, lost: 1 });
    expect(wrongOf(all.slice(1))).to.deep.equal({ ...right, invented: 1 });
    expect(accountForEvents({ ...toBeTold, changes: new Set(all) }, without(3)), 'the last one').to.include({
      lost: 1,
    });
    expect([...changesTold([story, without(0)])].sort()).to.deep.equal(all.sort());
  });

  it('finds another reason than the stored one', () => {
    const unexplained = event('messages.updated', { changes: [sent, row('m', 1, '2', 'failed')] });
    expect(wrongIn([unexplained, ...without(0)])).to.include({ told: 7, lost: 1 });
  });

  it('finds what is told again, or in another order', () => {
    for (const at of [1, 2, 3, 4, 5]) expect(wrongIn([...story, story[at]!])).to.include({ duplicates: 1, told: 7 });
    const turned = [story[3]!, ...without(3)];
    expect(wrongIn(turned)).to.include({ disordered: 1 });
  });

  it('takes a delivery that overrides the end of the time for what it is, and not the other way round', () => {
    const recipients = new Map([['m 0', { to: '1', status: 'delivered', error: null }]]);
    const told = (...statuses: string[]) =>
      accountForEvents(
        { recipients, finished: new Set(), written: [] },
        statuses.map((status) => event(`message.${status}`, row('m', 0, '1', status))),
      );
    expect(told('expired', 'delivered')).to.deep.equal({ ...right, told: 2 });
    expect(told('delivered', 'expired')).to.include({ disordered: 1, lost: 1 });
    const expired = { ...toBeTold, recipients: new Map([['m 0', { to: '1', status: 'expired', error: null }]]) };
    const sentAfterwards = accountForEvents(expired, [event('message.sent', sent)]);
    expect(sentAfterwards).to.include({ invented: 1 });
  });

  it('takes what an operator wants told once more for no repeat', () => {
    const twice = [...story, story[3]!];
    expect(accountForEvents({ ...toBeTold, replayed: new Set([read.id]) }, twice)).to.deep.equal(right);
    expect(accountForEvents({ ...toBeTold, replayed: new Set([sent.id]) }, twice)).to.include({ duplicates: 1 });
  });

  it('finds what did not happen', () => {
    const inventions = [
      event('message.sent', row('m', 7, '1', 'sent')),
      event('message.sent', row('w', 0, '4', 'sent')),
      event('message.delivered', row('o', 0, '3', 'delivered')),
      ended('w'),
      received('3B', 'hello'),
    ];
    for (const invented of inventions) expect(wrongIn([...story, invented])).to.include({ invented: 1 });
    const toAnother = event('message.read', { ...read, to: '9' });
    expect(wrongIn([...without(3), toAnother])).to.include({ invented: 1 });
    expect(wrongIn([...without(5), received('3A', 'another text')])).to.include({ invented: 1 });
  });

  describe('of people', () => {
    const words = ['hello', 'stop', 'start', 'Stop!'];
    const written = words.map((text, i) => ({ from: '5', platformId: `T${i}`, text }));
    written.push({ from: '6', platformId: 'T0', text: 'hello' });
    const people = { recipients: new Map(), finished: new Set<string>(), written };
    const messages = written.map(({ from, platformId, text }, i) => ({
      ...event('message.received', { from, platformMessageId: platformId, content: { text } }),
      timestamp: `2026-11-26T00:00:0${i}.000Z`,
    }));
    let n = 0;
    const wish = (type: string, phone = '5') => event(`optout.${type}`, { phones: [phone] }, `w${++n}`);
    const [out, back] = [() => wish('added'), () => wish('removed')];
    const wrongOf = (...events: GatewayEvent[]) => accountForEvents(people, events);
    const fine = { told: 5, lost: 0, invented: 0, disordered: 0, duplicates: 0 };

    it('finds nothing wrong where all is told that they wrote and want', () => {
      expect(wrongOf(...messages, out(), back(), out())).to.deep.equal(fine);
      expect(wrongOf(...messages, out()), 'the network brought one late').to.deep.equal(fine);
      expect(wrongOf(messages.at(-1)!, ...messages.slice(0, -1), out()), 'each in their order').to.deep.equal(fine);
      expect(accountForEvents({ ...people, types: ['message.received'] }, messages)).to.deep.equal(fine);
    });

    it('finds what is not told of one, also under an id that another one has', () => {
      for (const left of [0, 4]) {
        const others = messages.filter((_, i) => i !== left);
        expect(wrongOf(...others, out())).to.deep.equal({ ...fine, told: 4, lost: 1 });
      }
      expect(wrongOf(...messages, out(), back())).to.deep.equal({ ...fine, lost: 1 });
      expect(wrongOf(...messages)).to.deep.equal({ ...fine, lost: 1 });
    });

    it('finds what one wrote in one ms in another order than others are told it', () => {
      const at = messages[0]!.timestamp;
      const together = messages.map((message) => ({ ...message, timestamp: at }));
      const inOrder = { ...people, inOrder: together };
      const [first, second, ...rest] = together;
      expect(accountForEvents(inOrder, [...together, out()])).to.deep.equal(fine);
      const turned = [second!, first!, ...rest, out()];
      expect(accountForEvents(inOrder, turned)).to.deep.equal({ ...fine, disordered: 1 });
    });

    it('finds a wish that is not kept', () => {
      const kept = (...phones: string[]) => ({ ...people, optedOut: new Set(phones) });
      expect(accountForEvents(kept('5'), [...messages, out()])).to.deep.equal(fine);
      expect(accountForEvents(kept(), [...messages, out()])).to.deep.equal({ ...fine, lost: 1 });
    });

    it('finds an opt-out that a caller was promised, and that is not there, or not told', () => {
      const promised = { ...people, optedOutByCallers: ['7'], optedOut: new Set(['5', '7']) };
      const told = [...messages, out(), wish('added', '7')];
      expect(accountForEvents(promised, told)).to.deep.equal(fine);
      expect(accountForEvents(promised, told.slice(0, -1))).to.deep.equal({ ...fine, lost: 1 });
      expect(accountForEvents({ ...promised, optedOut: new Set(['5']) }, told)).to.deep.equal({ ...fine, lost: 1 });
    });

    it('finds another order, repeats and inventions', () => {
      const [first, second, ...rest] = messages;
      expect(wrongOf(second!, first!, ...rest, out())).to.deep.equal({ ...fine, disordered: 1 });
      expect(wrongOf(...messages, out(), out())).to.deep.equal({ ...fine, invented: 1 });
      expect(wrongOf(...messages, back(), out())).to.deep.equal({ ...fine, invented: 1 });
      expect(wrongOf(...messages, out(), wish('added', '6'))).to.deep.equal({ ...fine, lost: 1 });
      const twice = out();
      expect(wrongOf(...messages, twice, twice)).to.deep.equal({ ...fine, duplicates: 1 });
    });
  });

  describe('of devices', () => {
    const devices = new Map([['d', { status: 'connected' }]]);
    const none = { recipients: new Map(), finished: new Set<string>(), written: [], devices };
    const fine = { told: 0, lost: 0, invented: 0, disordered: 0, duplicates: 0 };
    let n = 0;
    const state = (type: string, data: object) => event(`device.${type}`, data, `s${++n}`);
    const connected = () => state('connected', { status: 'connected', phone: '5', since: String(n) });
    const interrupted = (reason = 'network') => state('interrupted', { status: 'connecting', reason, notBefore: n });
    const restricted = (untilMs = 1) =>
      state('restricted', { kind: 'new_chat_cap', until: new Date(untilMs).toISOString() });
    const unrestricted = () => state('unrestricted', {});
    const wrongOf = (...events: GatewayEvent[]) => accountForEvents(none, events);
    const wrongUnder = (restriction: DeviceStanding['restriction'], ...events: GatewayEvent[]) =>
      accountForEvents({ ...none, devices: new Map([['d', { status: 'connected', restriction }]]) }, events);
    const cap = (untilMs: number) => ({ kind: 'new_chat_cap', untilMs }) as const;

    it('finds nothing wrong where each one is another, and the last is how they stand', () => {
      const told = [interrupted(), interrupted('replaced'), connected(), restricted(), unrestricted()];
      expect(wrongOf(...told)).to.deep.equal(fine);
      expect(wrongUnder(cap(2), ...told, restricted(), restricted(2))).to.deep.equal(fine);
      expect(wrongUnder(cap(1), connected(), restricted(), interrupted(), connected())).to.deep.equal(fine);
      const open = state('restricted', { kind: 'new_chat_cap', until: null });
      expect(wrongUnder({ kind: 'new_chat_cap' }, connected(), open)).to.deep.equal(fine);
    });

    it('finds a device of which nothing was told, or not that it was ever connected', () => {
      expect(wrongOf()).to.deep.equal({ ...fine, lost: 1 });
      const off = { ...none, devices: new Map([['d', { status: 'connecting' }]]) };
      expect(accountForEvents(off, [connected(), interrupted()])).to.deep.equal(fine);
      expect(accountForEvents(off, [interrupted()])).to.deep.equal({ ...fine, lost: 1 });
    });

    it('finds a last restriction that is not told, or was lifted untold', () => {
      expect(wrongUnder(cap(1), connected())).to.deep.equal({ ...fine, lost: 1 });
      expect(wrongUnder(cap(2), connected(), restricted())).to.deep.equal({ ...fine, lost: 1 });
      expect(wrongUnder(cap(1), connected(), restricted(), unrestricted())).to.deep.equal({ ...fine, lost: 1 });
      expect(wrongOf(connected(), restricted())).to.deep.equal({ ...fine, lost: 1 });
    });

    it('finds a last state that is not told, and one that is told of a device that has it', () => {
      expect(wrongOf(interrupted())).to.deep.equal({ ...fine, lost: 1 });
      expect(accountForEvents({ ...none, types: [] }, [interrupted()])).to.deep.equal(fine);
      expect(wrongOf(connected(), connected())).to.deep.equal({ ...fine, invented: 1 });
      expect(wrongUnder(cap(1), restricted(), connected(), restricted())).to.deep.equal({ ...fine, invented: 1 });
      const twice = connected();
      expect(wrongOf(twice, twice)).to.deep.equal({ ...fine, duplicates: 1 });
    });
  });

  it('finds what some were told in other words', () => {
    const other = { ...sent, at: 'then' };
    const found: unknown[] = [];
    const count = (...told: GatewayEvent[][]) => countAltered(told, (what) => found.push(what));
    expect(count(story, story)).to.equal(0);
    expect(count(story, [event('messages.updated', { changes: [sent] }, 'another batch')])).to.equal(0);
    expect(found).to.deep.equal([]);
    expect(count(story, [event('messages.updated', { changes: [other] }, 'another batch')])).to.equal(1);
    expect(count(story, [{ ...story[5]!, timestamp: 'later' }])).to.equal(1);
    expect(found).to.have.length(2);
  });

  it('is right only if all of it is', () => {
    const result = {
      ...right,
      altered: 0,
      changes: 1,
      written: 1,
      requests: 1,
      repeats: 0,
      putAside: 0,
      consumerKills: 1,
    };
    expect(isToldRight(result)).to.equal(true);
    for (const wrong of ['lost', 'invented', 'disordered', 'duplicates', 'altered']) {
      expect(isToldRight({ ...result, [wrong]: 1 }), wrong).to.equal(false);
    }
  });
});
