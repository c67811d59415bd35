import type { DeviceView } from '@gateway/contracts/console/views';
import { Button, SegmentedControl, Stack, Text, TextInput, Title } from '@mantine/core';
import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { connectDevice, type LinkRequest } from '../../../api/devices.js';
import { useMe } from '../../../api/session.js';
import { Announce } from '../../../components/announce.js';
import { Panel } from '../../../components/panel.js';
import { Failure } from '../../../components/states/failure.js';
import { CodeState, LiveCode } from './live-code.js';
import { SimulatedPhone } from './simulated-phone.js';

type Method = LinkRequest['method'];

/** Links an account: by a code that the phone scans, or one that is typed into it. The code on the screen is never an old one. */
export function LinkPanel({ id, view }: { id: string; view: DeviceView | undefined }) {
  const { t } = useTranslation();
  const [chosen, choose] = useState<Method>();
  const ask = useMutation({ mutationFn: (wanted: LinkRequest) => connectDevice(id, wanted) });
  const { isSimulated } = useMe();
  const link = view?.link;
  const method = chosen ?? link?.method ?? 'qrCode';
  const isUnderWay = link !== undefined && link.method === method;
  return (
    <Panel>
      <Stack>
        <Title order={2} size="h4">
          {t('link.title')}
        </Title>
        <Announce>{isUnderWay && <CodeState link={link} />}</Announce>
        <SegmentedControl
          fullWidth
          aria-label={t('link.title')}
          value={method}
          onChange={(value) => choose(value as Method)}
          data={[
            { value: 'qrCode', label: t('link.qrCode') },
            { value: 'pairingCode', label: t('link.pairingCode') },
          ]}
        />
        {ask.error && !isUnderWay && <Failure error={ask.error} />}
        {/* In front of a code that takes the rest of a screen. */}
        {isUnderWay && isSimulated && <SimulatedPhone device={id} method={method} />}
        {isUnderWay && <LiveCode link={link} isScannedOnce={view?.reason === 'scan_again'} />}
        {!isUnderWay && method === 'qrCode' && (
          <Stack align="flex-start">
            <Text size="sm" c="dimmed">
              {t('link.qrAbout')}
            </Text>
            <Button loading={ask.isPending} onClick={() => ask.mutate({ method: 'qrCode' })}>
              {t('link.showQr')}
            </Button>
          </Stack>
        )}
        {!isUnderWay && method === 'pairingCode' && (
          <NumberForm isPending={ask.isPending} onAsk={(phoneNumber) => ask.mutate({ method, phoneNumber })} />
        )}
      </Stack>
    </Panel>
  );
}

/** Digits, with whatever people write between them. */
const NUMBER = /^\+?[\d\s\-.()]{7,25}$/;

function NumberForm({ isPending, onAsk }: { isPending: boolean; onAsk: (phoneNumber: string) => void }) {
  const { t } = useTranslation();
  const form = useForm({
    initialValues: { phone: '' },
    validate: { phone: (phone) => (NUMBER.test(phone.trim()) ? null : t('link.badNumber')) },
  });
  return (
    <form onSubmit={form.onSubmit(({ phone }) => onAsk(phone.trim()))}>
      <Stack align="flex-start">
        <TextInput
          w="100%"
          label={t('link.number')}
          description={t('link.numberAbout')}
          type="tel"
          dir="ltr"
          autoComplete="tel"
          placeholder="+44 7700 900123"
          {...form.getInputProps('phone')}
        />
        <Button type="submit" loading={isPending}>
          {t('link.showCode')}
        </Button>
      </Stack>
    </form>
  );
}
