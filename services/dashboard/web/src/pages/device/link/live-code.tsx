import type { DeviceLink } from '@gateway/contracts/console/views';
import { Center, Loader, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { nowMs } from '../../../api/clock.js';
import { useTick } from '../../../components/moment.js';
import { CodeRing } from './code-ring.js';
import classes from './live-code.module.css';
import { QrPicture } from './qr-picture.js';

interface LiveCodeProps {
  link: DeviceLink;
  /** The network wants a second scan, of a new code. */
  isScannedOnce: boolean;
}

/** The code that counts now, for as long as it counts: past its end it is blurred, until the next one is here. */
export function LiveCode({ link, isScannedOnce }: LiveCodeProps) {
  const { t } = useTranslation();
  const { method, code, codeExpiresAtMs } = link;
  useTick(250);
  const isDead = stateOf(link) !== 'shown';
  return (
    <Stack align="center" gap="md">
      {isScannedOnce && (
        <Text size="sm" fw={560} role="status">
          {t('link.scanAgain')}
        </Text>
      )}
      <div className={classes.frame} data-dead={isDead || undefined}>
        {code === undefined ? (
          <Center h="100%" mih={120}>
            <Loader size="sm" aria-hidden />
          </Center>
        ) : (
          <Code method={method} code={code} />
        )}
      </div>
      {code !== undefined && codeExpiresAtMs !== undefined && <CodeRing key={code} endMs={codeExpiresAtMs} />}
      <ol className={classes.steps}>
        {(method === 'qrCode' ? (['open', 'devices', 'scan'] as const) : (['open', 'devices', 'enter'] as const)).map(
          (step) => (
            <li key={step}>{t(`link.steps.${step}`)}</li>
          ),
        )}
      </ol>
    </Stack>
  );
}

/** The same for those who cannot see it. */
export function CodeState({ link }: { link: DeviceLink }) {
  const { t } = useTranslation();
  useTick(250);
  return t(`link.${stateOf(link)}`);
}

function stateOf({ code, codeExpiresAtMs }: DeviceLink): 'coming' | 'shown' | 'next' {
  if (code === undefined) return 'coming';
  return codeExpiresAtMs !== undefined && codeExpiresAtMs <= nowMs() ? 'next' : 'shown';
}

function Code({ method, code }: { method: DeviceLink['method']; code: string }) {
  const { t } = useTranslation();
  if (method === 'qrCode') return <QrPicture text={code} label={t('link.qrCode')} />;
  const shown = code.length === 8 ? `${code.slice(0, 4)}-${code.slice(4)}` : code;
  return (
    <div className={`${classes.typed} ltr`} data-code={code}>
      {shown}
    </div>
  );
}
