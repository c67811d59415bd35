export const OTP_LANGUAGES = ['English', 'Arabic'] as const;
export type OtpLanguage = (typeof OTP_LANGUAGES)[number];

const SENTENCES: Record<OtpLanguage, string> = {
  English: 'is your verification code. For your security, do not share it.',
  // The first letter of strong direction is Arabic, so the whole line runs right to left by itself; the digits keep
  // their order, and the asterisks stay next to them. A direction mark in between would break the bold.
  Arabic: 'هو رمز التحقق الخاص بك. حفاظًا على أمانك، لا تشاركه مع أحد.',
};

/** The message of a one-time password, the code in bold so that it is easy to see and to copy. */
export function otpText(code: string, language: OtpLanguage): string {
  return `*${code}* ${SENTENCES[language]}`;
}
