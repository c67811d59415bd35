import type { OptOutView } from '@gateway/contracts/console/views';
import { Button, Group, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { liftOptOut } from '../../api/opt-outs.js';
import { ConfirmDialog } from '../../components/confirm-dialog.js';
import { Moment } from '../../components/moment.js';
import { TablePanel } from '../../components/tables/table-panel.js';

interface OptOutTableProps {
  people: readonly OptOutView[];
  total: number;
  mayLift: boolean;
}

export function OptOutTable({ people, total, mayLift }: OptOutTableProps) {
  const { t } = useTranslation();
  const [lifted, setLifted] = useState<string>();
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <Text size="sm" c="dimmed" className="figures" role="status">
        {t('optOuts.count', { count: total, shown: people.length })}
      </Text>
      <TablePanel
        label={t('optOuts.title')}
        columns={[t('optOuts.columns.person'), t('optOuts.columns.source'), t('optOuts.columns.since')]}
        {...(mayLift && { deeds: t('optOuts.lift') })}
      >
        {people.map((optOut, index) => (
          // Numbers that are masked may be equal.
          // biome-ignore lint/suspicious/noArrayIndexKey: the order of the list is stable.
          <Table.Tr key={index}>
            <Table.Td>
              <Person optOut={optOut} />
            </Table.Td>
            <Table.Td>{t(`optOuts.sources.${optOut.source}`)}</Table.Td>
            <Table.Td>
              <Moment ms={Date.parse(optOut.at)} />
            </Table.Td>
            {mayLift && (
              <Table.Td>
                <Group justify="flex-end">
                  <Button
                    size="compact-sm"
                    variant="default"
                    aria-label={`${t('optOuts.lift')}: ${placeOf(optOut)}`}
                    onClick={() => {
                      setLifted(placeOf(optOut));
                      setAsking(true);
                    }}
                  >
                    {t('optOuts.lift')}
                  </Button>
                </Group>
              </Table.Td>
            )}
          </Table.Tr>
        ))}
      </TablePanel>
      <ConfirmDialog
        opened={isAsking}
        onClose={() => setAsking(false)}
        title={t('optOuts.liftTitle')}
        about={t('optOuts.liftAbout')}
        deed={t('optOuts.lift')}
        onConfirm={() => liftOptOut(lifted ?? '')}
      />
    </>
  );
}

function Person({ optOut: { phone, hiddenId } }: { optOut: OptOutView }) {
  const { t } = useTranslation();
  if (phone !== null) return <span className="ltr figures">+{phone}</span>;
  return (
    <>
      <Text size="sm">{t('optOuts.hidden')}</Text>
      {hiddenId && (
        <Text size="xs" c="dimmed">
          <span className="ltr mono">{hiddenId}</span>
        </Text>
      )}
    </>
  );
}

function placeOf({ phone, hiddenId = '' }: OptOutView): string {
  return phone ?? hiddenId;
}
