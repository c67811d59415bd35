import type { SendView } from '@gateway/contracts/console/send-views';
import type { RecipientStatus } from '@gateway/contracts/sends/statuses';
import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Download } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { cancelMessage, useContent, useMessage } from '../../api/messages.js';
import { useMe } from '../../api/session.js';
import { Announce } from '../../components/announce.js';
import { BackLink } from '../../components/back-link.js';
import { ConfirmDialog } from '../../components/confirm-dialog.js';
import { Moment } from '../../components/moment.js';
import { Page } from '../../components/page.js';
import { Panel } from '../../components/panel.js';
import { Failure } from '../../components/states/failure.js';
import { Loaded } from '../../components/states/loaded.js';
import { SkeletonRows } from '../../components/states/skeleton-rows.js';
import { SendState } from '../messages/send-status.js';
import { RecipientPhone } from './recipient-phone.js';
import { placesOf, RecipientTable } from './recipient-table.js';
import { saveCsv } from './save-csv.js';
import classes from './send.module.css';
import { SendCounts } from './send-counts.js';
import { SendMap } from './send-map.js';

const route = getRouteApi('/inside/messages/$message');

/** One send, as it goes out. */
export function SendPage() {
  const { message: id } = route.useParams();
  const message = useMessage(id);
  const { t } = useTranslation();
  const title = (
    <span className="ltr mono" style={{ overflowWrap: 'anywhere' }}>
      {id}
    </span>
  );
  return (
    <Stack>
      <BackLink to="/messages" label={t('messages.title')} />
      <Page title={title} name={id} actions={message.data && <Actions view={message.data} />}>
        <Loaded query={message} skeleton={<SkeletonRows />}>
          {(view) => (view ? <Known view={view} /> : <Text>{t('send.gone')}</Text>)}
        </Loaded>
      </Page>
    </Stack>
  );
}

function Known({ view }: { view: SendView }) {
  const { t } = useTranslation();
  const { user, isSimulated } = useMe();
  const { recipient } = route.useSearch();
  const [chosen, choose] = useState<RecipientStatus>();
  const [shown, show] = useState(recipient === undefined ? undefined : { key: recipient });
  const { status, device, kind, createdAtMs, expiresAtMs, counts, statuses, messageId } = view;
  const hasPhone = isSimulated && user.role !== 'viewer';
  const showRow = (place: number) => {
    choose(undefined);
    show({ key: place });
  };
  // In tens: to hear each would be to hear nothing else.
  const percent = Math.floor((10 * (statuses.length - counts.queued)) / statuses.length) * 10;
  return (
    <Stack gap="lg">
      <Announce>{t('send.progress', { status: t(`messages.status.${status}`), percent })}</Announce>
      <Panel>
        <Stack>
          <Group gap="lg">
            <SendState status={status} />
            <Text size="sm" c="dimmed">
              {t(`messages.kinds.${kind}`)} · <span className="ltr mono">{device}</span> · <Moment ms={createdAtMs} />
              {counts.queued > 0 && (
                <>
                  {' · '}
                  {t('send.expires')} <Moment ms={expiresAtMs} />
                </>
              )}
            </Text>
          </Group>
          <SendCounts counts={counts} chosen={chosen} onChoose={choose} />
          {statuses.length > 1 && <SendMap statuses={statuses} onChoose={showRow} />}
        </Stack>
      </Panel>
      <Words id={messageId} />
      <div className={hasPhone ? classes.besides : undefined}>
        <RecipientTable id={messageId} statuses={statuses} chosen={chosen} shown={shown} onChoose={hasPhone && show} />
        {hasPhone && <RecipientPhone id={messageId} place={shown?.key ?? 0} statuses={statuses} />}
      </div>
    </Stack>
  );
}

function Words({ id }: { id: string }) {
  const { t } = useTranslation();
  const { data } = useContent(id, useMe().user.role !== 'viewer');
  if (!data?.text && !data?.file) return null;
  return (
    <Panel>
      <Title order={2} size="h5" mb="xs">
        {t('send.content')}
      </Title>
      {data.file && (
        <Text size="sm" c="dimmed">
          <bdi>{data.file.name ?? data.file.type}</bdi> · <span className="ltr mono">{data.file.mimeType}</span>
        </Text>
      )}
      {data.text && (
        <Text size="sm" className={classes.text} dir="auto" tabIndex={0} role="group" aria-label={t('send.content')}>
          {data.text}
        </Text>
      )}
    </Panel>
  );
}

function Actions({ view: { messageId, counts, statuses, kind } }: { view: SendView }) {
  const { t } = useTranslation();
  const [opened, { open, close }] = useDisclosure();
  const csv = useMutation({ mutationFn: () => saveCsv(messageId, placesOf(statuses)) });
  const mayAct = useMe().user.role !== 'viewer';
  return (
    <>
      {csv.error && <Failure error={csv.error} />}
      <Button
        variant="default"
        leftSection={<Download size={16} />}
        loading={csv.isPending}
        onClick={() => csv.mutate()}
      >
        {t('send.csv')}
      </Button>
      {mayAct && counts.failed + counts.expired > 0 && kind !== 'otp' && (
        <Button
          variant="default"
          renderRoot={(props) => <Link {...props} to="/messages/new" search={{ again: messageId }} />}
        >
          {t('send.again')}
        </Button>
      )}
      {mayAct && counts.queued > 0 && (
        <Button variant="default" onClick={open}>
          {t('send.cancel')}
        </Button>
      )}
      <ConfirmDialog
        opened={opened}
        onClose={close}
        title={t('send.cancelTitle')}
        about={t('send.cancelAbout')}
        deed={t('send.cancel')}
        onConfirm={() => cancelMessage(messageId)}
      />
    </>
  );
}
