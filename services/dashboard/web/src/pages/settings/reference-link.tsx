import { Anchor } from '@mantine/core';
import { useMe } from '../../api/session.js';

/** To the page that describes the API and tries it out. @param hash `#token=...` fills in a token there. */
export function ReferenceLink({ label, hash = '' }: { label: string; hash?: string }) {
  const { api } = useMe();
  return (
    <Anchor href={`${api.url}/api/messenger/v1/docs${hash}`} target="_blank" rel="noreferrer" size="sm" td="underline">
      {label}
    </Anchor>
  );
}
