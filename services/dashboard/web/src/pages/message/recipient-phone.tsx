import type { ShownMessage } from '@gateway/contracts/console/send-views';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import { Text } from '@mantine/core';
import { CheckCheck, Paperclip } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { usePhone } from '../../api/messages.js';
import { useTimeText } from '../../components/moment.js';
import { Failure } from '../../components/states/failure.js';
import classes from './recipient-phone.module.css';

interface RecipientPhoneProps {
  id: string;
  /** Of the recipient, in the send. */
  place: number;
  statuses: string;
}

/** The phone of one recipient, on a simulated network: what has arrived, as a person sees it. */
export function RecipientPhone({ id, place, statuses }: RecipientPhoneProps) {
  const { t } = useTranslation();
  const status = RECIPIENT_STATUSES[Number(statuses[place])];
  const isOver = status === 'failed' || status === 'expired' || status === 'cancelled';
  const { data, error, refetch } = usePhone(id, place, statuses[place]);
  return (
    <section className={classes.phone} aria-label={t('send.phone.label')}>
      <div className={classes.owner}>
        <Text size="xs" c="dimmed">
          {t('send.phone.of')}
        </Text>
        <Text size="sm" fw={560}>
          <bdi className="ltr figures">{data ? `+${data.to}` : '…'}</bdi>
        </Text>
      </div>
      <div className={classes.screen} aria-live="polite">
        {error && <Failure error={error} onRetry={() => void refetch()} />}
        {data?.messages.length === 0 && (
          <Text size="sm" c="dimmed" ta="center" m="auto">
            {t(isOver ? 'send.phone.never' : 'send.phone.empty')}
          </Text>
        )}
        {data?.messages.map((message) => (
          <Bubble key={`${message.atMs} ${message.type}`} message={message} />
        ))}
      </div>
    </section>
  );
}

function Bubble({ message: { type, text, file, atMs, readAtMs } }: { message: ShownMessage }) {
  const { t } = useTranslation();
  const time = useTimeText();
  return (
    <div className={classes.bubble}>
      {type !== 'text' && (
        <Text size="sm" className={classes.file}>
          <Paperclip size={14} aria-hidden /> <bdi>{file ?? t('messages.kinds.media')}</bdi>
        </Text>
      )}
      {text !== undefined && (
        <Text size="sm" dir="auto" className={classes.text}>
          {text}
        </Text>
      )}
      {type === 'text' && text === undefined && (
        <Text size="sm" c="dimmed">
          {t('send.phone.hidden')}
        </Text>
      )}
      <Text size="xs" c="dimmed" className={classes.time}>
        {time(atMs)}
        {readAtMs !== undefined && (
          <>
            <CheckCheck size={14} color="var(--mantine-color-sea-7)" aria-hidden /> {t('messages.status.read')}
          </>
        )}
      </Text>
    </div>
  );
}
