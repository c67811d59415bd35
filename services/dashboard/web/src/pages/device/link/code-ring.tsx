import { Group, RingProgress, Text } from '@mantine/core';
import '@mantine/core/styles/RingProgress.css';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { nowMs } from '../../../api/clock.js';
import { useTick } from '../../../components/moment.js';

/** How long the code still counts. Shown anew for each code: its whole time is what is left when it comes. */
export function CodeRing({ endMs }: { endMs: number }) {
  const { t } = useTranslation();
  const wholeMs = useRef(Math.max(1, endMs - nowMs()));
  useTick(250);
  const leftMs = Math.max(0, endMs - nowMs());
  const seconds = Math.ceil(leftMs / 1000);
  return (
    <Group gap="xs" role="timer">
      <RingProgress
        size={26}
        thickness={3}
        aria-hidden
        sections={[{ value: Math.min(100, (leftMs / wholeMs.current) * 100), color: seconds > 5 ? 'sea' : 'orange' }]}
      />
      <Text size="sm" c="dimmed" className="figures">
        {seconds > 0 ? t('link.left', { count: seconds }) : t('link.next')}
      </Text>
    </Group>
  );
}
