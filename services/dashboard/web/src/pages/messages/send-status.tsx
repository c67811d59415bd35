import type { SendStatus } from '@gateway/contracts/sends/statuses';
import { useTranslation } from 'react-i18next';
import { StateMark, type Tone } from '../../components/states/state-mark.js';

const TONES: Readonly<Record<SendStatus, Tone>> = {
  ...{ queued: 'idle', sending: 'warn', sent: 'good', delivered: 'good', read: 'good' },
  ...{ failed: 'bad', expired: 'bad', cancelled: 'idle' },
};

/** How far a send, or one of its recipients, is. */
export function SendState({ status }: { status: SendStatus }) {
  const { t } = useTranslation();
  return (
    <StateMark tone={TONES[status]} pulses={status === 'sending'}>
      {t(`messages.status.${status}`)}
    </StateMark>
  );
}
