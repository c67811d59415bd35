import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type FoundOptOut, findOptOut } from '../../api/opt-outs.js';
import { Moment } from '../../components/moment.js';
import { Failure } from '../../components/states/failure.js';

/** Whether one person is on a list that is too long to be looked through. */
export function FindPerson() {
  const { t } = useTranslation();
  const [person, setPerson] = useState('');
  const { mutate, data, error, isPending, reset } = useMutation({ mutationFn: findOptOut });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (person.trim() !== '') mutate(person.trim());
      }}
    >
      <Stack gap="xs">
        <Group align="flex-end" gap="xs">
          <TextInput
            label={t('optOuts.find')}
            type="tel"
            dir="ltr"
            flex="1 1 10rem"
            maw={260}
            value={person}
            onChange={({ currentTarget: { value } }) => {
              setPerson(value);
              reset();
            }}
          />
          <Button type="submit" variant="default" loading={isPending}>
            {t('optOuts.findGo')}
          </Button>
        </Group>
        {error && <Failure error={error} />}
        <output aria-live="polite">{data && <Found found={data} />}</output>
      </Stack>
    </form>
  );
}

function Found({ found: { optedOut, source, at } }: { found: FoundOptOut }) {
  const { t } = useTranslation();
  if (!optedOut || source === undefined || at === undefined) return <Text size="sm">{t('optOuts.notFound')}</Text>;
  return (
    <Text size="sm">
      {t(`optOuts.found.${source}`)} <Moment ms={Date.parse(at)} />
    </Text>
  );
}
