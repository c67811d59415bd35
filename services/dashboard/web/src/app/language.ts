import i18next, { type FormatterModule } from 'i18next';
import { initReactI18next } from 'react-i18next';
import type en from '../texts/en.json';
import type webhooks from '../texts/webhooks/en.json';

/** Each by its own name, which is written in the system's font: another language's web font is never loaded for it. */
export const LANGUAGES = { en: { name: 'English', dir: 'ltr' }, ar: { name: 'العربية', dir: 'rtl' } } as const;
export type Language = keyof typeof LANGUAGES;

declare module 'i18next' {
  interface CustomTypeOptions {
    resources: { translation: typeof en & typeof webhooks };
  }
}

const REMEMBERED = 'console-language';

export function currentLanguage(): Language {
  return i18next.language === 'ar' ? 'ar' : 'en';
}

/** Western digits in both languages: a time is compared with a log, a number with a phone. */
export const currentLocale = () => (currentLanguage() === 'ar' ? 'ar-u-nu-latn' : 'en-GB');

/** With its thousands apart. */
export const sayNumber = (value: number) => new Intl.NumberFormat(currentLocale()).format(value);

/** Numbers in texts are those of pages. */
const NUMBERS: FormatterModule = {
  type: 'formatter',
  init() {},
  add() {},
  addCached() {},
  format: (value) => (typeof value === 'number' ? sayNumber(value) : value),
};

/** Each has all texts, and the page loads none but those of its own. */
const TEXTS: Record<Language, () => Promise<{ default: object }>> = {
  en: () => import('../texts/en.json'),
  ar: async () => (await Promise.all([import('../texts/ar.json'), import('./arabic.js')]))[0],
};

/** Texts that come with the pages that need them: what everyone loads first is small. */
const SECTIONS: Record<'webhooks', typeof TEXTS> = {
  webhooks: { en: () => import('../texts/webhooks/en.json'), ar: () => import('../texts/webhooks/ar.json') },
};
type Section = keyof typeof SECTIONS;
const loaded = new Set<Section>();

/** A page, with its texts. */
export async function withTexts<Page>(section: Section, page: Promise<Page>): Promise<Page> {
  loaded.add(section);
  await addSection(section, currentLanguage());
  return page;
}

async function addSection(section: Section, language: Language): Promise<void> {
  const texts = await SECTIONS[section][language]();
  i18next.addResourceBundle(language, 'translation', texts.default, true);
}

/** Loads the texts of the language that was chosen here before, or that the browser asks for. */
export async function startLanguage(): Promise<void> {
  const wished = localStorage.getItem(REMEMBERED) ?? navigator.language.slice(0, 2);
  const language = wished === 'ar' ? 'ar' : 'en';
  const texts = await TEXTS[language]();
  await i18next
    .use(initReactI18next)
    .use(NUMBERS)
    .init({
      lng: language,
      fallbackLng: false,
      resources: { [language]: { translation: texts.default } },
      interpolation: { escapeValue: false, alwaysFormat: true },
    });
  markDocument(language);
}

export async function chooseLanguage(language: Language): Promise<void> {
  localStorage.setItem(REMEMBERED, language);
  await showLanguage(language);
}

async function showLanguage(language: Language): Promise<void> {
  if (!i18next.hasResourceBundle(language, 'translation')) {
    i18next.addResourceBundle(language, 'translation', (await TEXTS[language]()).default);
  }
  for (const section of loaded) await addSection(section, language);
  await i18next.changeLanguage(language);
  markDocument(language);
}

function markDocument(language: Language): void {
  document.documentElement.lang = language;
  document.documentElement.dir = LANGUAGES[language].dir;
}
