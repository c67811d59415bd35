import i18next from 'i18next';
import { initReactI18next } from 'react-i18next';
import en from '../texts/en.json';

/** Each by its own name, which is written in the system's font: another language's web font is never loaded for it. */
export const LANGUAGES = { en: { name: 'English', dir: 'ltr' }, ar: { name: 'العربية', dir: 'rtl' } } as const;
export type Language = keyof typeof LANGUAGES;

declare module 'i18next' {
  interface CustomTypeOptions {
    resources: { translation: typeof en };
  }
}

const REMEMBERED = 'console-language';

export function currentLanguage(): Language {
  return i18next.language === 'ar' ? 'ar' : 'en';
}

/** Loads the texts of the language that was chosen here before, or that the browser asks for. */
export async function startLanguage(): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: 'en',
    fallbackLng: 'en',
    resources: { en: { translation: en } },
    interpolation: { escapeValue: false },
  });
  const wished = localStorage.getItem(REMEMBERED) ?? navigator.language.slice(0, 2);
  await showLanguage(wished === 'ar' ? 'ar' : 'en');
}

export async function chooseLanguage(language: Language): Promise<void> {
  localStorage.setItem(REMEMBERED, language);
  await showLanguage(language);
}

async function showLanguage(language: Language): Promise<void> {
  if (language === 'ar' && !i18next.hasResourceBundle('ar', 'translation')) {
    const [texts] = await Promise.all([import('../texts/ar.json'), import('./arabic.js')]);
    i18next.addResourceBundle('ar', 'translation', texts.default);
  }
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
  document.documentElement.dir = LANGUAGES[language].dir;
}
