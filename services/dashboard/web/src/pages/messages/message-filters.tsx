import type { SendKind } from '@gateway/contracts/content/message-content';
import type { SendStatus } from '@gateway/contracts/sends/statuses';
import { NativeSelect, SimpleGrid } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useDevices } from '../../api/devices.js';
import type { MessageFilter } from '../../api/messages.js';
import { KINDS, STATUSES } from './filter-values.js';

const DAYS = [1, 3, 7] as const;

interface MessageFiltersProps {
  filter: MessageFilter;
  onChange: (change: MessageFilter) => void;
}

export function MessageFilters({ filter: { device, status, kind, days }, onChange }: MessageFiltersProps) {
  const { t } = useTranslation();
  const ids = new Set([...(useDevices().data ?? []).map(({ id }) => id), ...(device ? [device] : [])]);
  const any = { value: '', label: t('messages.any') };
  return (
    <SimpleGrid cols={{ base: 2, sm: 4 }} spacing="sm" maw={720}>
      <NativeSelect
        label={t('messages.columns.state')}
        value={status ?? ''}
        onChange={({ currentTarget: { value } }) => onChange({ status: (value || undefined) as SendStatus })}
        data={[any, ...STATUSES.map((each) => ({ value: each, label: t(`messages.status.${each}`) }))]}
      />
      <NativeSelect
        label={t('messages.columns.device')}
        value={device ?? ''}
        onChange={({ currentTarget: { value } }) => onChange({ device: value || undefined })}
        data={[any, ...ids]}
      />
      <NativeSelect
        label={t('messages.kind')}
        value={kind ?? ''}
        onChange={({ currentTarget: { value } }) => onChange({ kind: (value || undefined) as SendKind })}
        data={[any, ...KINDS.map((each) => ({ value: each, label: t(`messages.kinds.${each}`) }))]}
      />
      <NativeSelect
        label={t('messages.since')}
        value={String(days ?? '')}
        onChange={({ currentTarget: { value } }) => onChange({ days: value ? Number(value) : undefined })}
        data={[any, ...DAYS.map((count) => ({ value: String(count), label: t('messages.days', { count }) }))]}
      />
    </SimpleGrid>
  );
}
