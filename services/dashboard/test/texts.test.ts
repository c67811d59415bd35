import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import { REASONS } from '@gateway/contracts/devices/device-state';
import { RESTRICTIONS } from '@gateway/contracts/devices/restriction';
import { FAILURE_NAMES, recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { CONSOLE_ERRORS } from '@gateway/dashboard/http/console-error';
import { ROOT } from '@gateway/scripts/paths';
import { expect } from 'chai';

/** Ours are below the network's. */
const OWN_CODES = Array.from({ length: 99 }, (_, index) => index + 1);
const FORMS = ['zero', 'one', 'two', 'few', 'many', 'other'];
const FORM = new RegExp(`_(${FORMS.join('|')})$`);

/** Texts by their whole key. */
function readTexts(language: string): Map<string, string> {
  const folder = join(ROOT, 'services/dashboard/web/src/texts');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (file) => basename(file) === `${language}.json`,
  );
  return new Map(files.flatMap((file) => flatten(JSON.parse(readFileSync(join(folder, file), 'utf8')))));
}

function flatten(node: object, before = ''): [string, string][] {
  return Object.entries(node).flatMap(([key, value]): [string, string][] =>
    typeof value === 'string' ? [[before + key, value]] : flatten(value as object, `${before}${key}.`),
  );
}

const withoutForm = (texts: Map<string, string>) => new Set([...texts.keys()].map((key) => key.replace(FORM, '')));

describe('the texts of the console', () => {
  const [english, arabic] = [readTexts('en'), readTexts('ar')];

  it('say the same things in both languages', () => {
    expect([...withoutForm(arabic)].sort()).to.deep.equal([...withoutForm(english)].sort());
  });

  it('have the six forms of Arabic wherever something is counted', () => {
    const counted = [...english.keys()].filter((key) => key.endsWith('_other')).map((key) => key.replace(FORM, ''));
    expect(counted).to.have.length.above(3);
    const missing = counted.flatMap((key) => FORMS.map((form) => `${key}_${form}`)).filter((key) => !arabic.has(key));
    expect(missing).to.deep.equal([]);
  });

  it('name in both what they are given', () => {
    const namesIn = (text = '') =>
      [...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name).filter((name) => name !== 'count');
    for (const [key, text] of english) {
      if (!FORM.test(key)) expect(namesIn(arabic.get(key)), key).to.deep.equal(namesIn(text));
    }
  });

  it('have a sentence for each reason, restriction and refusal', () => {
    const wanted = [
      ...Object.keys(REASONS).map((reason) => `reasons.${reason}`),
      ...Object.keys(RESTRICTIONS).map((kind) => `restrictions.${kind}`),
      ...Object.keys(CONSOLE_ERRORS).map((code) => `errors.${code}`),
      ...API_TOKEN_SCOPES.map((scope) => `tokens.scopes.${scope}`),
    ];
    expect(wanted.filter((key) => !withoutForm(english).has(key))).to.deep.equal([]);
  });

  it('say of each failure what helps; a code of the network without a text of its own has that of all codes', () => {
    const own = OWN_CODES.map(recipientErrorName).filter((name) => name && !name.startsWith('network_')) as string[];
    expect(own).to.include('awaiting_key');
    const names = new Set([...FAILURE_NAMES, ...own]);
    for (const texts of [english, arabic]) {
      for (const name of names) {
        const text =
          texts.get(`recipientErrors.${name.replace('network_other', 'network_rare')}`) ??
          texts.get('recipientErrors.network')!;
        if (!name.startsWith('network_')) expect(texts.has(`recipientErrors.${name}`), name).to.equal(true);
        expect(text.match(/[.!?](?: |$)/g), `${name}: ${text}`).to.have.length.of.at.least(2);
      }
    }
  });
});
