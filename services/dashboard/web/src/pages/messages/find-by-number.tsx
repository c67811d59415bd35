import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Search } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { findMessages } from '../../api/messages.js';
import { Failure } from '../../components/states/failure.js';
import { MessageTable } from './message-table.js';

/** The sends to one number, in place of the list. The number is not in the address, which others get to see. */
export function FindByNumber({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  const [phone, setPhone] = useState('');
  const { mutate, data, error, isPending, reset } = useMutation({ mutationFn: findMessages });
  const showAll = () => {
    setPhone('');
    reset();
  };
  return (
    <Stack gap="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (phone.trim() !== '') mutate({ phone: phone.trim() });
        }}
      >
        <Group align="flex-end" gap="xs">
          <TextInput
            label={t('messages.find.label')}
            placeholder="+44 7700 900123"
            type="tel"
            dir="ltr"
            flex="1 1 10rem"
            maw={260}
            value={phone}
            onChange={({ currentTarget: { value } }) => setPhone(value)}
          />
          <Button type="submit" variant="default" leftSection={<Search size={16} />} loading={isPending}>
            {t('messages.find.go')}
          </Button>
          {data && (
            <Button variant="subtle" onClick={showAll}>
              {t('messages.showAll')}
            </Button>
          )}
        </Group>
      </form>
      {error && <Failure error={error} />}
      {data && (
        <Text size="sm" role="status">
          {t('messages.find.found', { count: data.length })}
        </Text>
      )}
      {data ? data.length > 0 && <MessageTable messages={data} /> : children}
    </Stack>
  );
}
