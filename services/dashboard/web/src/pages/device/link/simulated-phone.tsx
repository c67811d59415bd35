import type { DeviceLink } from '@gateway/contracts/console/views';
import { Button, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Keyboard, ScanLine } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { linkWithSimulatedPhone } from '../../../api/devices.js';
import { Failure } from '../../../components/states/failure.js';

/** On a simulated network there is no phone to take in one's hand. */
export function SimulatedPhone({ device, method }: { device: string; method: DeviceLink['method'] }) {
  const { t } = useTranslation();
  const { mutate, isPending, error } = useMutation({ mutationFn: linkWithSimulatedPhone });
  const [Icon, label] =
    method === 'qrCode' ? ([ScanLine, 'simulator.scan'] as const) : ([Keyboard, 'simulator.enter'] as const);
  return (
    <Stack gap="sm">
      <Button variant="default" leftSection={<Icon size={16} />} loading={isPending} onClick={() => mutate(device)}>
        {t(label)}
      </Button>
      {error && <Failure error={error} />}
    </Stack>
  );
}
