import type { DeviceView } from '@gateway/contracts/console/views';
import { LIMITS } from '@gateway/contracts/limits';
import { Button, FileButton, Group, NativeSelect, SimpleGrid, Stack, Text, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { FileUp, Paperclip, Send } from 'lucide-react';
import { useDeferredValue, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { sendMessage } from '../../api/messages.js';
import { RequestFailure } from '../../api/request.js';
import { useMe } from '../../api/session.js';
import { CopyBox } from '../../components/copy-box.js';
import { Panel } from '../../components/panel.js';
import { Failure } from '../../components/states/failure.js';
import { BadLines } from './bad-lines.js';
import { checkList } from './check-list.js';
import { makeKey } from './make-key.js';
import { PreviewPanel } from './preview-panel.js';
import { readAttachment, readText } from './read-file.js';
import { toCurl } from './to-curl.js';
import type { FormerMessage } from './use-former-message.js';

interface MessageFormProps {
  devices: readonly DeviceView[];
  /** Id of the device to begin with; without one the default. */
  wished: string | undefined;
  /** What was sent before, to be sent again. */
  former: FormerMessage | undefined;
}

/** Writes a message, and shows beside it what will become of it. */
export function MessageForm({ devices, wished = '', former }: MessageFormProps) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const { api } = useMe();
  const [chosen, choose] = useState(wished);
  const [people, setPeople] = useState('');
  const [text, setText] = useState('');
  const [file, setFile] = useState<File | null>(null);
  // One for each form that is opened: one that is sent twice sends once.
  const [key, setKey] = useState(makeKey);
  useEffect(() => {
    if (!former) return;
    setPeople(former.numbers.join('\n'));
    setText(former.text);
    choose(former.device);
  }, [former]);
  const device = devices.find(({ id }) => id === chosen) ?? devices.find(({ isDefault }) => isDefault) ?? devices[0]!;
  const checked = useDeferredValue(people);
  const list = useMemo(() => checkList(checked), [checked]);
  const sending = useMutation({
    mutationFn: async () => {
      const attachment = file ? { attachment: await readAttachment(file) } : {};
      return sendMessage({
        device: device.id,
        key,
        message: { to: list.numbers, ...(text && { text }), ...attachment },
      });
    },
    onSuccess: (id) => void navigate({ to: '/messages/$message', params: { message: id } }),
    // Something else was sent with it before, as is said then: who sends again wants this as well.
    onError: (error) => error instanceof RequestFailure && error.code === 'idempotency_mismatch' && setKey(makeKey()),
  });
  const reading = useMutation({ mutationFn: readText, onSuccess: setPeople });
  const isReady =
    (text !== '' || file !== null) &&
    list.bad.length === 0 &&
    list.numbers.length > 0 &&
    list.numbers.length <= LIMITS.maxRecipients &&
    checked === people;
  const dropBad = () => {
    const bad = new Set(list.bad.map(({ line }) => line));
    setPeople((all) =>
      all
        .split(/\r?\n/)
        .filter((_, index) => !bad.has(index + 1))
        .join('\n'),
    );
  };
  // The second click of two may come before the button is shown as busy.
  const isUnderWay = useRef(false);
  const submit = () => {
    if (isUnderWay.current) return;
    isUnderWay.current = true;
    sending.mutate(undefined, { onSettled: () => (isUnderWay.current = false) });
  };
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
      <Panel>
        <Stack>
          <NativeSelect
            label={t('messages.columns.device')}
            value={device.id}
            onChange={({ currentTarget: { value } }) => choose(value)}
            data={devices.map(({ id, name }) => ({ value: id, label: name === id ? id : `${name} (${id})` }))}
          />
          <Textarea
            label={t('compose.people')}
            description={t('compose.peopleAbout')}
            placeholder={'+44 7700 900123\n+44 7700 900124'}
            rows={8}
            dir="ltr"
            spellCheck={false}
            value={people}
            onChange={({ currentTarget: { value } }) => setPeople(value)}
            error={list.numbers.length > LIMITS.maxRecipients && t('compose.tooMany', { count: LIMITS.maxRecipients })}
          />
          <FileButton accept=".csv,.txt,text/csv,text/plain" onChange={(list) => list && reading.mutate(list)}>
            {(props) => (
              <Button {...props} variant="default" leftSection={<FileUp size={16} />} style={{ alignSelf: 'start' }}>
                {t('compose.upload')}
              </Button>
            )}
          </FileButton>
          {reading.error && <Failure error={reading.error} />}
          <BadLines bad={list.bad} onDrop={dropBad} />
          <Textarea
            label={t('compose.text')}
            rows={5}
            dir="auto"
            maxLength={LIMITS.maxTextCharacters}
            value={text}
            onChange={({ currentTarget: { value } }) => setText(value)}
          />
          <Group gap="sm">
            <FileButton onChange={setFile}>
              {(props) => (
                <Button {...props} variant="default" leftSection={<Paperclip size={16} />}>
                  {t('compose.attach')}
                </Button>
              )}
            </FileButton>
            {file && (
              <>
                <Text size="sm">
                  <bdi>{file.name}</bdi>
                </Text>
                <Button size="compact-sm" variant="subtle" onClick={() => setFile(null)}>
                  {t('compose.detach')}
                </Button>
              </>
            )}
          </Group>
          {sending.error && <Failure error={sending.error} />}
          <Button
            leftSection={<Send size={16} className="turns" />}
            disabled={!isReady}
            loading={sending.isPending}
            onClick={submit}
          >
            {t('compose.send', { count: list.numbers.length })}
          </Button>
        </Stack>
      </Panel>
      <Stack>
        <PreviewPanel device={device} list={list} parts={partsOf(text, file)} />
        <Panel>
          <Text size="sm" mb="xs">
            {t('compose.curl')}
          </Text>
          <CopyBox
            label={t('tokens.made.curl')}
            value={toCurl({ apiUrl: api.url, key, to: list.numbers, text, file })}
          />
        </Panel>
      </Stack>
    </SimpleGrid>
  );
}

/** Messages for each: text that cannot stand below the file follows it. */
function partsOf(text: string, file: File | null): number {
  const isBelow = file === null || (!file.type.startsWith('audio/') && text.length <= LIMITS.maxCaptionCharacters);
  return text === '' || isBelow ? 1 : 2;
}
