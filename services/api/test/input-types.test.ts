import { attachmentSchema } from '@gateway/api/attachments/attachment-schema';
import { nameFile } from '@gateway/api/attachments/name-file';
import { words } from '@gateway/api/http/input/shown-text';
import { expect } from 'chai';

const isTaken = (text: string) => words(100).validate(text).error === undefined;

describe('texts of a message', () => {
  it('must show something: nothing but what Unicode says is invisible is refused', () => {
    const unseen =
      /[\p{Default_Ignorable_Code_Point}\p{White_Space}\p{Cc}\u2800\ufff9-\ufffb\u{13430}-\u{1343f}\u2d7f\u{1107f}\u{13441}\u{13442}\u{16fe4}]/u;
    const taken: string[] = [];
    for (let code = 0; code < 0x110000; code++) {
      const character = String.fromCodePoint(code);
      if (unseen.test(character) && isTaken(character)) taken.push(code.toString(16));
    }
    expect(taken).to.deep.equal([]);
    for (const text of ['\u200e\ufe0f\u034f ', '\u{e0020}\u{e007f}', '\u3164\u2800\u200b', '\u17b4\u180b']) {
      expect(isTaken(text), JSON.stringify(text)).to.equal(false);
    }
  });

  it('may be short, foreign, or of pictures', () => {
    for (const text of ['.', '0', 'é', 'ا', 'ក', '한', '漢', '❤️', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '1️⃣', '𝕏', '\u0301', '\u0600']) {
      expect(isTaken(text), text).to.equal(true);
    }
  });
});

describe('names of files', () => {
  const nameFits = (filename: string) =>
    attachmentSchema.validate({ type: 'document', url: 'http://x', filename }).error === undefined;

  it('are shown as they are: nothing in them turns the direction of writing', () => {
    const turning = [...'\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u2028\u2029\ufeff'];
    for (const mark of turning)
      expect(nameFits(`photo${mark}gpj.exe`), mark.codePointAt(0)!.toString(16)).to.equal(false);
    for (const name of ['offer.pdf', 'عرض.pdf', 'הצעה 2.pdf', '👨\u200d👩\u200d👧.png', 'naïve (1).txt']) {
      expect(nameFits(name), name).to.equal(true);
    }
  });

  it('are seen, before their ending and up to it', () => {
    const unseen = [
      '\u200b',
      '\u3164',
      '\u00ad',
      '\u180e',
      '\u115f',
      ' ',
      '\u00a0',
      '\u206a',
      '\u{e0041}\u{e007f}',
      '\u2d7f \u200d',
    ];
    const names = [
      ...unseen,
      ...unseen.map((start) => `${start}.pdf`),
      '.',
      '..',
      '.\u3164',
      '\u200b.tar.gz',
      'a\u206a.pdf',
    ];
    const runs = [' '.repeat(200), '\u3164'.repeat(100), ' \u200b'.repeat(4)].map((run) => `a.pdf${run}.exe`);
    for (const name of [...names, ...runs]) expect(nameFits(name), JSON.stringify(name)).to.equal(false);
    for (const name of [
      '.profile',
      'a',
      '-',
      '\u0301.pdf',
      'a   b.pdf',
      '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}.png',
      'می\u200cخواهم.pdf',
      'a\u200bb.pdf',
      '❤\ufe0f.png',
      ' offer.pdf',
    ]) {
      expect(nameFits(name), JSON.stringify(name)).to.equal(true);
    }
  });

  it('are taken from a URL by the same rule', () => {
    const nameOf = (path: string) => nameFile({ type: 'document', url: `http://x/${path}` }, 'application/pdf');
    expect(nameOf('offer.pdf')).to.equal('offer.pdf');
    for (const path of ['%E3%85%A4.pdf', `a${'%20'.repeat(8)}.pdf`]) expect(nameOf(path), path).to.equal('file.pdf');
  });
});
