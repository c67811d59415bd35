import { Button, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { ScanLine } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { scanWithSimulatedPhone } from '../../api/devices.js';
import { Failure } from '../../components/failure.js';

/** On a simulated network there is no phone to take in one's hand. */
export function SimulatedScan({ device }: { device: string }) {
  const { t } = useTranslation();
  const { mutate, isPending, error } = useMutation({ mutationFn: scanWithSimulatedPhone });
  return (
    <Stack gap="sm">
      <Button variant="default" leftSection={<ScanLine size={16} />} loading={isPending} onClick={() => mutate(device)}>
        {t('simulator.scan')}
      </Button>
      {error && <Failure error={error} />}
    </Stack>
  );
}
