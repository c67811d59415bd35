import { Anchor } from '@mantine/core';
import { useMe } from '../../api/session.js';
import { currentLanguage } from '../../app/language.js';

/** To the page that describes the API and tries it out, in the language of this one. @param hash `#token=...` fills in a token there. */
export function ReferenceLink({ label, hash = '' }: { label: string; hash?: string }) {
  const { api } = useMe();
  const href = `${api.url}/api/messenger/v1/docs?language=${currentLanguage()}${hash}`;
  return (
    <Anchor href={href} target="_blank" rel="noreferrer" size="sm" td="underline">
      {label}
    </Anchor>
  );
}
