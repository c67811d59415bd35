import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import type { LinkProps } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useDevices } from '../../api/devices.js';
import { findMessages } from '../../api/messages.js';
import { useMe } from '../../api/session.js';
import { useTokens } from '../../api/tokens.js';
import { Moment } from '../../components/moment.js';
import { usePages } from '../shell/pages.js';
import { type FindQuery, readQuery } from './read-query.js';

/** One place that the query leads to. */
export interface Finding {
  id: string;
  label: ReactNode;
  about?: ReactNode;
  link: Pick<LinkProps, 'to' | 'params' | 'search'>;
}

export interface Findings {
  found: readonly Finding[];
  /** Why there is nothing, or not everything. */
  note?: string;
  error?: Error;
  isLooking: boolean;
}

const MOST_DEVICES = 20;
const TYPING_MS = 300;

/** Where a query leads to. Numbers and ids of the network are asked for; of all else nothing leaves the page but a key id. */
export function useFindings(typed: string): Findings {
  const query = readQuery(typed);
  const words = useByWords(query);
  const token = useToken(query);
  const messages = useMessages(query);
  if (query.kind === 'token') return token;
  if (query.kind === 'phone' || query.kind === 'networkId') return messages;
  if (query.kind === 'message') return { found: [toMessage(query.id)], isLooking: false };
  return words;
}

function useByWords(query: FindQuery): Findings {
  const { t } = useTranslation();
  const pages = usePages();
  const devices = useDevices();
  if (query.kind !== 'words') return { found: [], isLooking: false };
  const fits = (...texts: string[]) => texts.some((text) => text.toLowerCase().includes(query.text));
  const toPages = pages
    .filter(({ label, to }) => fits(label, to))
    .map(({ to, label }): Finding => ({ id: to, label, about: t('find.page'), link: { to } }));
  const toDevices = (devices.data ?? [])
    .filter(({ id, name }) => fits(id, name))
    .slice(0, MOST_DEVICES)
    .map(({ id, name, status }): Finding => {
      const about = (
        <>
          {t('find.device')} · <span className="ltr mono">{id}</span> · {t(`devices.status.${status}`)}
        </>
      );
      return {
        id: `device ${id}`,
        label: <bdi>{name}</bdi>,
        about,
        link: { to: '/devices/$device', params: { device: id } },
      };
    });
  return { found: [...toPages, ...toDevices], isLooking: devices.isLoading };
}

/** The key id is in every answer of the list already: nothing of the token is sent. */
function useToken(query: FindQuery): Findings {
  const { t } = useTranslation();
  const isAdmin = useMe().user.role === 'admin';
  const isToken = query.kind === 'token';
  const { data, error, isLoading } = useTokens({ enabled: isToken && isAdmin });
  if (!isToken) return { found: [], isLooking: false };
  if (!isAdmin) return { found: [], note: t('find.adminsOnly', { keyId: query.keyId }), isLooking: false };
  const token = data?.find(({ keyId }) => keyId === query.keyId);
  if (!token) {
    const note = data ? { note: t('find.noToken', { keyId: query.keyId }) } : {};
    return { found: [], ...note, ...(error && { error }), isLooking: isLoading };
  }
  const about = `${t('find.token')} · ${t(`tokens.states.${token.state}`)}`;
  const link = { to: '/settings/api', search: { key: token.keyId } } as const;
  return { found: [{ id: token.keyId, label: <bdi>{token.name}</bdi>, about, link }], isLooking: false };
}

function useMessages(query: FindQuery): Findings {
  const { t } = useTranslation();
  const mayAsk = useMe().user.role !== 'viewer';
  const sought =
    query.kind === 'phone' ? { phone: query.phone } : query.kind === 'networkId' ? { networkId: query.id } : undefined;
  const [asked] = useDebouncedValue(sought && JSON.stringify(sought), TYPING_MS);
  const { data, error, isFetching } = useQuery({
    queryKey: ['find', asked],
    queryFn: () => findMessages(JSON.parse(asked!) as { phone: string } | { networkId: string }),
    enabled: mayAsk && sought !== undefined && asked !== undefined,
    // What was sought is a number of a person.
    gcTime: 0,
  });
  if (!sought) return { found: [], isLooking: false };
  if (!mayAsk) return { found: [], note: t('find.operatorsOnly'), isLooking: false };
  // What is found for something else must not be there when Enter is pressed.
  const isAnswer = asked === JSON.stringify(sought);
  const isLooking = isFetching || !isAnswer;
  const found = ((isAnswer && data) || []).map(({ messageId, recipient, kind, status, createdAtMs }): Finding => {
    const about = (
      <>
        {t(`messages.kinds.${kind}`)} · {t(`messages.status.${status}`)} · <Moment ms={createdAtMs} />
      </>
    );
    return toMessage(messageId, { recipient, about });
  });
  const note = !isLooking && !error && found.length === 0 ? { note: t('find.noMessage') } : {};
  return { found, ...note, ...(error && { error }), isLooking };
}

function toMessage(id: string, { recipient, about }: { recipient?: number; about?: ReactNode } = {}): Finding {
  return {
    id: `${id} ${recipient ?? ''}`,
    label: <span className="ltr mono">{id}</span>,
    about,
    link: {
      to: '/messages/$message',
      params: { message: id },
      search: recipient === undefined ? {} : { recipient },
    },
  };
}
