import { Button, Stack } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Smartphone } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useDevices } from '../../api/devices.js';
import { useMe } from '../../api/session.js';
import { BackLink } from '../../components/back-link.js';
import { Page } from '../../components/page.js';
import { Failure } from '../../components/states/failure.js';
import { Listed } from '../../components/states/listed.js';
import { MessageForm } from './message-form.js';
import { useFormerMessage } from './use-former-message.js';

const route = getRouteApi('/inside/messages/new');

/** Writes a message to one person or to a list, which is checked before it is sent. */
export function NewMessagePage() {
  const { t } = useTranslation();
  const { again, device } = route.useSearch();
  const { role } = useMe().user;
  const devices = useDevices();
  const former = useFormerMessage(again);
  if (role === 'viewer') return <Page title={t('compose.title')}>{t('errors.not_allowed')}</Page>;
  return (
    <Stack>
      <BackLink to="/messages" label={t('messages.title')} />
      <Page title={t('compose.title')} about={again === undefined ? t('compose.about') : t('compose.aboutAgain')}>
        {former.error && <Failure error={former.error} onRetry={() => void former.refetch()} />}
        <Listed
          query={devices}
          empty={{
            icon: <Smartphone size={36} strokeWidth={1.4} />,
            title: t('devices.empty.title'),
            about: t('devices.empty.about'),
            action: (
              <Button component={Link} to="/devices/default">
                {t('link.title')}
              </Button>
            ),
          }}
        >
          {(all) => <MessageForm devices={all} wished={device} former={former.data} />}
        </Listed>
      </Page>
    </Stack>
  );
}
