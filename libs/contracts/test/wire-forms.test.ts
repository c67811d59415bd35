import { makeApiToken, parseApiToken, parseScopes } from '@gateway/contracts/api-token';
import type { MediaContent } from '@gateway/contracts/content/media-content';
import { contentOfPart } from '@gateway/contracts/content/message-content';
import { otpText } from '@gateway/contracts/content/otp-text';
import { isClientVersion, versionNumbers } from '@gateway/contracts/devices/client-version';
import { MAX_TRACE_SECONDS, parseOwnerQuestion } from '@gateway/contracts/devices/owner-questions';
import { decodeDoorbell, encodeDoorbell } from '@gateway/contracts/doorbell';
import type { MessageId } from '@gateway/contracts/ids';
import { findJobProblem, MAX_SENDS_PER_JOB } from '@gateway/contracts/jobs';
import { normalizePhoneNumber } from '@gateway/contracts/people/normalize-phone-number';
import { digitsOfHiddenId } from '@gateway/contracts/people/opt-outs';
import { isNetworkCode, ownErrorCode, recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { expect } from 'chai';
import { getCountries, getExampleNumber } from 'libphonenumber-js/min';
import examples from 'libphonenumber-js/mobile/examples';

describe('what processes tell each other', () => {
  it('in doorbells is read back, and nothing else is taken for one', () => {
    for (const topic of ['desired', 'observed', 'owner', 'sends', 'results', 'questions', 'answers'] as const) {
      const bell = { topic, workspace: 'main', device: 'phone-1' };
      expect(encodeDoorbell(bell)).to.equal(`${topic} main phone-1`);
      expect(decodeDoorbell(encodeDoorbell(bell))).to.deep.equal(bell);
    }
    const messageId = `msg_${'a1'.repeat(12)}` as MessageId;
    const code = { topic: 'codes', workspace: 'main', device: 'phone-1', code: { messageId, requestId: 'r' } } as const;
    expect(encodeDoorbell(code)).to.equal(`codes main phone-1 ${messageId} r`);
    expect(decodeDoorbell(encodeDoorbell(code))).to.deep.equal(code);
    for (const text of [
      'codes main phone-1',
      `codes main phone-1 ${messageId}`,
      `codes main phone-1 ${messageId} `,
      `codes main phone-1 ${messageId} r x`,
      'codes main phone-1 msg_a r',
      `sends main phone-1 ${messageId} r`,
      '',
      'sends',
      'sends main',
      'sends  phone-1',
      'sends main ',
      'sends main phone-1 x',
      'other main phone-1',
    ]) {
      expect(decodeDoorbell(text), text).to.equal(undefined);
    }
  });

  it('in jobs names a send of a device, in this version', () => {
    const job = {
      v: 1,
      workspace: 'main',
      device: 'phone-1',
      messageId: `msg_${'a1'.repeat(12)}`,
      priority: 'otp',
      requestId: 'r',
    };
    const problemOf = (change: object) => findJobProblem('send', { ...job, ...change })?.split(' ')[0];
    expect(problemOf({})).to.equal(undefined);
    expect(
      problemOf({ priority: 'bulk', device: 'a'.repeat(40), workspace: 'w'.repeat(40), requestId: 'r'.repeat(100) }),
    ).to.equal(undefined);
    const wrong: Record<string, unknown[]> = {
      v: [2, undefined],
      workspace: ['', 'w'.repeat(41), undefined],
      device: ['', 'A', 'a b', 'a'.repeat(41), undefined],
      messageId: ['msg_a', `msg_${'A1'.repeat(12)}`, `x msg_${'a1'.repeat(12)}`, `msg_${'a1'.repeat(12)}x`, undefined],
      priority: ['low', undefined],
      requestId: ['', 'r'.repeat(101), undefined],
    };
    for (const [field, values] of Object.entries(wrong)) {
      for (const value of values) expect(problemOf({ [field]: value }), `${field} ${String(value)}`).to.equal(field);
    }
    expect(findJobProblem('send', { ...job, other: 1 })).to.equal('other is not allowed');
    const most = Array.from({ length: MAX_SENDS_PER_JOB }, () => job);
    expect(findJobProblem('sends', { v: 1, sends: most })).to.equal(undefined);
    for (const sends of [[], [...most, job], [job, { ...job, v: 2 }], [null], job, undefined])
      expect(findJobProblem('sends', { v: 1, sends })?.split(' ')[0]).to.equal('sends');
    for (const payload of [null, undefined, 'send', 7]) expect(findJobProblem('send', payload)).to.match(/^payload /);
  });

  it('in questions is one of those that this version knows', () => {
    const same = [
      { kind: 'session' },
      { kind: 'trace', seconds: 1 },
      { kind: 'trace', seconds: MAX_TRACE_SECONDS },
      { kind: 'contacts', numbers: [] },
      { kind: 'contacts', numbers: ['1234567', '123456789012345'] },
      { kind: 'forget', number: '4915112345670' },
    ];
    for (const question of same) expect(parseOwnerQuestion(JSON.stringify(question))).to.deep.equal(question);
    const others = [
      ...[
        '',
        'null',
        '7',
        '{}',
        '[]',
        '{"kind":"other"}',
        '{"kind":"contacts"}',
        '{"kind":"contacts","numbers":"1234567"}',
      ],
      ...['{"kind":"contacts","numbers":["1234567",1234567]}', '{"kind":"contacts","numbers":["123456"]}'],
      ...['{"kind":"contacts","numbers":["1234567890123456"]}', '{"kind":"contacts","numbers":["x1234567"]}'],
      ...[
        '{"kind":"trace"}',
        '{"kind":"trace","seconds":0}',
        '{"kind":"trace","seconds":-1}',
        '{"kind":"trace","seconds":"5"}',
      ],
      ...[`{"kind":"trace","seconds":${MAX_TRACE_SECONDS + 1}}`, '{"kind":"forget"}', '{"kind":"forget","number":7}'],
      ...['{"kind":"forget","number":"123456"}', '{"kind":"other","numbers":["1234567"]}'],
    ];
    for (const text of others) expect(parseOwnerQuestion(text), text).to.equal(undefined);
  });
});

describe('what is stored of a send', () => {
  it('has a second part only where a medium has a text of its own', () => {
    const text = { kind: 'text', text: 'hello' } as const;
    const media = {
      kind: 'media',
      type: 'audio',
      mimeType: 'audio/ogg',
      blob: 'b',
      sizeBytes: 1,
      blobHolder: 'h',
    } as MediaContent;
    const both = { ...media, followingText: 'after' };
    expect([contentOfPart(text, 0), contentOfPart(media, 0), contentOfPart(both, 0)]).to.deep.equal([
      text,
      media,
      both,
    ]);
    expect(contentOfPart(both, 1)).to.deep.equal({ kind: 'text', text: 'after' });
    for (const [content, part] of [
      [text, 1],
      [{ ...text, followingText: 'x' } as never, 1],
      [media, 1],
      [both, 2],
    ] as const) {
      expect(contentOfPart(content, part)).to.equal(undefined);
    }
  });

  it('tells our errors from those of the network', () => {
    expect(recipientErrorName(0)).to.equal(undefined);
    const names = [
      'not_on_messenger',
      'content_unreadable',
      'attachment_unreadable',
      'attachment_not_uploaded',
      'recipient_opted_out',
    ] as const;
    expect(names.map((name) => ownErrorCode(name))).to.deep.equal([1, 3, 6, 7, 8]);
    const held = [
      'new_contacts_held',
      'looked_up_again',
      'awaiting_history',
      'awaiting_key',
      'person_forgotten',
      'account_changed',
    ] as const;
    expect(held.map((name) => ownErrorCode(name))).to.deep.equal([9, 10, 11, 12, 13, 14]);
    for (const name of [...names, ...held]) expect(recipientErrorName(ownErrorCode(name))).to.equal(name);
    expect(recipientErrorName(463)).to.equal('network_463');
    expect([99, 100, 463].map(isNetworkCode)).to.deep.equal([false, true, true]);
  });
});

describe('what people type', () => {
  it('as scopes of a token are names that there are, once each, in their order', () => {
    expect(parseScopes('otp, connect,otp')).to.deep.equal(['connect', 'otp']);
    expect(parseScopes('connect,send,otp,read,opt-outs,events,webhooks,admin')).to.have.length(8);
    for (const list of ['', ' ', 'send,', 'send,other', 'Send']) expect(parseScopes(list), list).to.equal(undefined);
  });

  it('as a token is a whole token', () => {
    const { token, keyId } = makeApiToken();
    expect(parseApiToken(token)).to.deep.equal({ keyId });
    for (const text of [` ${token}`, `${token}x`, token.slice(0, -1), token.toUpperCase(), '']) {
      expect(parseApiToken(text), text).to.equal(undefined);
    }
  });

  it('as a client version is three numbers', () => {
    for (const text of ['2.3000.1043857760', '0.0.0', '999.99999.9999999999'])
      expect(isClientVersion(text), text).to.equal(true);
    for (const text of [
      '',
      '2.3000',
      '2.3000.1.1',
      'v2.3000.1',
      '2.3000.1 ',
      '1000.1.1',
      '2.100000.1',
      '2.1.10000000000',
      '2..1',
    ]) {
      expect(isClientVersion(text), text).to.equal(false);
    }
    expect(versionNumbers('2.3000.17')).to.deep.equal([2, 3000, 17]);
  });

  it('as a phone number is 7 to 15 digits with what people put between them, and no trunk zero', () => {
    for (const text of ['+44 7700 900-123', '(44).7700 [900] 123', '447700900123']) {
      expect(normalizePhoneNumber(text), text).to.equal('447700900123');
    }
    for (const text of [
      '+44 (0) 7700900123',
      '44[0]7700900123',
      '44 ( 0 ) 7700900123',
      '44(-0.)7700900123',
      '0447700900123',
      '123456',
      '1234567890123456',
      '++447700900123',
      '44/7700900123',
      '44770090012x',
      '',
    ]) {
      expect(normalizePhoneNumber(text), text).to.equal(undefined);
    }
    expect(normalizePhoneNumber('44 (10) 7700900')).to.equal('44107700900');
  });

  it('holds no 0 that is only dialled inside the country, however it is written', () => {
    for (const text of [
      '+44 (07700) 900123',
      '+44 07700 900123',
      '+44-0-7700-900123',
      '+44 (0 7700) 900123',
      '+44 ()0() 7700 900123',
      '+44 (00) 7700 900123',
      '+49 (0171) 1234567',
      '+33 06 12 34 56 78',
      '+81 090-1234-5678',
      '+36 06 20 123 4567',
      '+55 021 98765 4321',
    ]) {
      expect(normalizePhoneNumber(text), text).to.equal(undefined);
    }
  });

  it('keeps a 0 that is part of it, and is taken although nothing is known of its country or its kind', () => {
    for (const number of [
      ...[
        '39 06 1234 5678',
        '379 06 698 12345',
        '378 0549 882345',
        '225 07 12 34 56 78',
        '242 06 612 3456',
        '241 06 03 12 34',
      ],
      ...[
        '241 01 12 34 56',
        '229 01 97 12 34 56',
        '39 0 347 1234567',
        '999100000001',
        '44 0 9999',
        '210 0123456',
        '383 49 123456',
      ],
      ...[
        '800 0123 4567',
        '883 5100 0123 4567',
        '52 1 55 1234 5678',
        '54 9 11 2345 6789',
        '55 11 8765 4321',
        '225 07 12 34',
      ],
    ]) {
      expect(normalizePhoneNumber(number), number).to.equal(number.replaceAll(' ', ''));
    }
    const known = getCountries().map((country) => getExampleNumber(country, examples)!.number.slice(1));
    expect(known).to.have.length.greaterThan(200);
    expect(known.filter((number) => normalizePhoneNumber(number) !== number)).to.deep.equal([]);
  });
});

describe('what people see', () => {
  it('of a one-time password is the code first, and a sentence in their language', () => {
    expect(otpText('482913', 'English')).to.equal(
      '*482913* is your verification code. For your security, do not share it.',
    );
    expect(otpText('482913', 'Arabic')).to.match(/^\*482913\* هو رمز التحقق .*أحد\.$/);
  });

  it('of a hidden identifier is known as one', () => {
    expect(digitsOfHiddenId('123@lid')).to.equal('123');
    for (const text of ['123', '123@s.whatsapp.net', 'x123@lid', '123@lid.', '@lid', '1234567890123456789@lid']) {
      expect(digitsOfHiddenId(text), text).to.equal(undefined);
    }
  });
});
