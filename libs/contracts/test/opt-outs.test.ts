import { readWish } from '@gateway/contracts/people/opt-outs';
import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import { expect } from 'chai';

describe('what a message wishes', () => {
  const stops = [
    ...['STOP', 'stop', ' Stop. ', 'STOP!!!', 'StopAll', 'stop all', 'Unsubscribe', 'cancel', 'END', 'quit', 'revoke'],
    ...['opt-out', 'OPTOUT', '"stop"', '*STOP*', 'STOP 🙏', 'ＳＴＯＰ', '\u200eSTOP\u200f', 'ST\u200bOP', 'Stop\n'],
    ...['إيقاف', 'ايقاف', 'أيقاف', 'إِيقَاف', 'إيقـــاف', '\u202bإيقاف\u202c', 'توقف', 'تَوَقَّفْ', 'قف', 'قِف!', 'أوقف'],
    ...[
      'الغاء',
      'إلغاء',
      'إلغاء الاشتراك',
      'الغاء  الإشتراك.',
      'ألغِ الاشتراك',
      'إيقاف الرسائل',
      'أوقف الإرسال',
      'إلغاء الخدمة',
      'إنهاء',
      'خروج؟',
      '\ufe8d\ufef3\ufed8\ufe8e\ufed1',
    ],
  ];
  for (const text of stops)
    it(`is no more messages: ${JSON.stringify(text)}`, () => expect(readWish(text)).to.equal('stop'));

  for (const text of ['START', 'start.', 'Unstop', 'subscribe', 'اشتراك', 'إشتراك', 'اشترك', 'ابدأ', 'إبدأ', 'استئناف'])
    it(`is messages again: ${JSON.stringify(text)}`, () => expect(readWish(text)).to.equal('start'));

  const others = [
    ...['', '.', 'yes', 'no', "don't stop", 'stop please', 'bus stop', 'stopped', 'cancel my order', 'weekend', '1'],
    ...['لا تتوقف', 'موقف', 'الغاء الطلب', 'نعم', 'لا', 'اشتراكي', 'stop '.repeat(30)],
  ];
  for (const text of others)
    it(`is neither: ${JSON.stringify(text)}`, () => expect(readWish(text)).to.equal(undefined));
});

describe('the form that the ways to write a number share', () => {
  const forms: [string, string][] = [
    ['553187654321', '5531987654321'],
    ['5531987654321', '5531987654321'],
    ['551133334444', '551133334444'],
    ['5215512345678', '525512345678'],
    ['525512345678', '525512345678'],
    ['541123456789', '5491123456789'],
    ['5491123456789', '5491123456789'],
    ['447700900123', '447700900123'],
  ];
  for (const [written, form] of forms)
    it(`of ${written} is ${form}`, () => expect(canonicalPhoneNumber(written)).to.equal(form));
});
