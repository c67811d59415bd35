import { RECIPIENT_STATUSES, type RecipientStatus, type StatusCounts } from '@gateway/contracts/sends/statuses';
import { UnstyledButton } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { sayNumber } from '../../app/language.js';
import classes from './send.module.css';

interface SendCountsProps {
  counts: StatusCounts;
  chosen: RecipientStatus | undefined;
  /** Only these, or all of them again. */
  onChoose: (status: RecipientStatus | undefined) => void;
}

/** How many are how far: the key to the map, and the filter of the table. */
export function SendCounts({ counts, chosen, onChoose }: SendCountsProps) {
  const { t } = useTranslation();
  return (
    <div className={classes.counts} role="group" aria-label={t('send.counts')}>
      {RECIPIENT_STATUSES.map((status) => (
        <UnstyledButton
          key={status}
          className={classes.count}
          aria-pressed={chosen === status}
          disabled={counts[status] === 0}
          onClick={() => onChoose(chosen === status ? undefined : status)}
        >
          <span>
            <span
              className={classes.key}
              style={{ '--of': `var(--of-${status})` } as React.CSSProperties}
              aria-hidden
            />{' '}
            {t(`messages.status.${status}`)}
          </span>
          <span className={`${classes.many} figures`}>{sayNumber(counts[status])}</span>
        </UnstyledButton>
      ))}
    </div>
  );
}
