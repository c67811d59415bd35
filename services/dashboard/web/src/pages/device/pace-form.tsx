import type { DeviceView } from '@gateway/contracts/console/views';
import { SegmentedControl, Text, TextInput } from '@mantine/core';
import '@mantine/core/styles/FloatingIndicator.css';
import '@mantine/core/styles/SegmentedControl.css';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { paceDevice } from '../../api/devices.js';
import { useMe } from '../../api/session.js';
import { FormBody } from '../../components/form-dialog.js';
import { isWhole } from '../../components/whole-number.js';

const MOST_A_MINUTE = 100_000;
const MOST_AT_ONCE = 9_999;

/** How fast the device sends: at its own pace, or at that of the senders. */
export function PaceForm({ view, onDone }: { view: DeviceView; onDone: () => void }) {
  const { t } = useTranslation();
  const { pace, hasOwnPace } = view;
  // Accounts that send without a limit get banned: the console refuses it on the real network.
  const least = useMe().isSimulated ? 0 : 1;
  const outside = (text: string, from: number, to: number) =>
    isWhole(text, from, to) ? null : t('device.outside', { from, to });
  const form = useForm({
    initialValues: {
      whose: hasOwnPace ? 'own' : 'common',
      rate: String(pace.messagesPerMinute),
      burst: String(pace.burst),
      jitter: String(Math.round(pace.jitter * 100)),
    },
    validate: {
      rate: (rate, { whose }) => (whose === 'own' ? outside(rate, least, MOST_A_MINUTE) : null),
      burst: (burst, { whose }) => (whose === 'own' ? outside(burst, 1, MOST_AT_ONCE) : null),
      jitter: (jitter, { whose }) => (whose === 'own' ? outside(jitter, 0, 100) : null),
    },
  });
  const save = ({ whose, rate, burst, jitter }: typeof form.values) => {
    const own = { messagesPerMinute: Number(rate), burst: Number(burst), jitter: Number(jitter) / 100 };
    return paceDevice({ id: view.id, pace: whose === 'own' ? own : undefined });
  };
  const field = (name: 'rate' | 'burst' | 'jitter') => (
    <TextInput
      label={t(`device.paceOf.${name}`)}
      description={t(`device.paceAbout.${name}`)}
      inputMode="numeric"
      dir="ltr"
      {...form.getInputProps(name)}
    />
  );
  return (
    <FormBody form={form} deed={t('device.save')} onSave={save} onDone={onDone}>
      <SegmentedControl
        fullWidth
        aria-label={t('device.changePace')}
        data={[
          { value: 'common', label: t('device.commonPace') },
          { value: 'own', label: t('device.ownPace') },
        ]}
        {...form.getInputProps('whose')}
      />
      {form.values.whose === 'common' && (
        <Text size="sm" c="dimmed">
          {t('device.commonPaceAbout')}
        </Text>
      )}
      {form.values.whose === 'own' && (
        <>
          {field('rate')}
          {field('burst')}
          {field('jitter')}
        </>
      )}
    </FormBody>
  );
}
