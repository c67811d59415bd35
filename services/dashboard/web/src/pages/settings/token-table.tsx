import type { TokenView } from '@gateway/contracts/console/views';
import { Button, Group, Table, Text } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { revokeToken } from '../../api/tokens.js';
import { ConfirmDialog } from '../../components/confirm-dialog.js';
import { Moment } from '../../components/moment.js';
import { StateMark, type Tone } from '../../components/states/state-mark.js';
import { TablePanel } from '../../components/tables/table-panel.js';

const TONES = { active: 'good', revoked: 'idle', expired: 'idle' } as const satisfies Record<TokenView['state'], Tone>;

const COLUMNS = ['name', 'state', 'device', 'scopes', 'created', 'lastUsed', 'expires'] as const;

interface TokenTableProps {
  tokens: readonly TokenView[];
  /** Key id of the one that was looked for. */
  chosen: string | undefined;
}

export function TokenTable({ tokens, chosen }: TokenTableProps) {
  const { t } = useTranslation();
  const [leaving, setLeaving] = useState<TokenView>();
  const [isAsking, setAsking] = useState(false);
  const ask = (token: TokenView) => {
    setLeaving(token);
    setAsking(true);
  };
  return (
    <>
      <TablePanel
        label={t('tokens.title')}
        columns={COLUMNS.map((column) => t(`tokens.columns.${column}`))}
        deeds={t('tokens.revoke')}
      >
        {tokens.map((token) => (
          <Row key={token.keyId} token={token} isChosen={token.keyId === chosen} onRevoke={() => ask(token)} />
        ))}
      </TablePanel>
      <ConfirmDialog
        opened={isAsking}
        onClose={() => setAsking(false)}
        title={t('tokens.revokeTitle', { name: leaving?.name ?? '' })}
        about={t('tokens.revokeAbout')}
        deed={t('tokens.revoke')}
        onConfirm={() => revokeToken(leaving?.keyId ?? '')}
      />
    </>
  );
}

function Row({ token, isChosen, onRevoke }: { token: TokenView; isChosen: boolean; onRevoke: () => void }) {
  const row = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isChosen) row.current?.scrollIntoView({ block: 'center' });
  }, [isChosen]);
  const { t } = useTranslation();
  const { keyId, name, state, device, scopes, createdAtMs, lastUsedAtMs, expiresAtMs } = token;
  return (
    <Table.Tr ref={row} data-token={keyId} {...(isChosen && { 'aria-current': true, bg: 'var(--chosen)' })}>
      <Table.Td>
        <Text size="sm" fw={560} maw={{ base: 220, sm: 120, lg: 220 }} truncate>
          <bdi>{name}</bdi>
        </Text>
        <Text size="xs" c="dimmed">
          <span className="ltr mono">{keyId}</span>
        </Text>
      </Table.Td>
      <Table.Td>
        <StateMark tone={TONES[state]}>{t(`tokens.states.${state}`)}</StateMark>
      </Table.Td>
      <Table.Td>{device ? <span className="ltr mono">{device}</span> : t('tokens.anyDevice')}</Table.Td>
      <Table.Td>
        <Text size="xs" maw={200}>
          <span className="ltr mono">{scopes.join(', ')}</span>
        </Text>
      </Table.Td>
      <Table.Td>
        <Moment ms={createdAtMs} />
      </Table.Td>
      <Table.Td>{lastUsedAtMs ? <Moment ms={lastUsedAtMs} /> : t('tokens.neverUsed')}</Table.Td>
      <Table.Td>{expiresAtMs ? <Moment ms={expiresAtMs} /> : t('tokens.never')}</Table.Td>
      <Table.Td>
        <Group justify="flex-end">
          {state === 'active' && (
            <Button
              size="compact-sm"
              variant="default"
              onClick={onRevoke}
              aria-label={`${t('tokens.revoke')}: ${name}`}
            >
              {t('tokens.revoke')}
            </Button>
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}
