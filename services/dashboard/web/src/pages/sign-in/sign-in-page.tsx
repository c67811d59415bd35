import { Button, Center, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { signIn, signInByLink } from '../../api/session.js';
import { chooseLanguage, currentLanguage, LANGUAGES, type Language } from '../../app/language.js';
import { Panel } from '../../components/panel.js';
import { PasswordField } from '../../components/password-field.js';
import { Failure } from '../../components/states/failure.js';
import { takeSecret } from './take-secret.js';

/** With a password, or by the one-time link that led here. */
export function SignInPage() {
  const { t } = useTranslation();
  const { next } = useSearch({ from: '/sign-in' });
  const navigate = useNavigate();
  const enter = { onSuccess: () => navigate({ href: next ?? '/' }) };
  const byPassword = useMutation({ mutationFn: signIn, ...enter });
  const byLink = useMutation({ mutationFn: signInByLink, ...enter });
  const form = useForm({ initialValues: { name: '', password: '' } });
  const isTaken = useRef(false);
  const { mutate } = byLink;
  useEffect(() => {
    document.title = `${t('signIn.title')} · ${t('product')}`;
  }, [t]);
  useEffect(() => {
    // A link works once, and React may ask twice.
    const secret = isTaken.current ? undefined : takeSecret();
    isTaken.current = true;
    if (secret !== undefined) mutate(secret);
  }, [mutate]);
  const error = byPassword.error ?? byLink.error;
  return (
    <Center component="main" mih="100dvh" p="md">
      <Stack w="100%" maw={380} gap="lg">
        <Group gap="sm" justify="center">
          <img src={ICON} alt="" width={32} height={32} />
          <Title order={1} size="h3">
            {t('product')}
          </Title>
        </Group>
        <Panel>
          <form onSubmit={form.onSubmit((values) => byPassword.mutate(values))}>
            <Stack>
              <Title order={2} size="h4">
                {byLink.isPending ? t('signIn.byLink') : t('signIn.title')}
              </Title>
              {error && <Failure error={error} />}
              <TextInput
                label={t('signIn.name')}
                autoComplete="username"
                autoCapitalize="none"
                spellCheck={false}
                dir="ltr"
                autoFocus
                required
                withAsterisk={false}
                {...form.getInputProps('name')}
              />
              <PasswordField
                label={t('signIn.password')}
                autoComplete="current-password"
                required
                withAsterisk={false}
                {...form.getInputProps('password')}
              />
              <Button type="submit" loading={byPassword.isPending || byLink.isPending}>
                {t('signIn.enter')}
              </Button>
            </Stack>
          </form>
        </Panel>
        <Text size="xs" c="dimmed" ta="center">
          {t('signIn.help')} <span className="ltr mono">npm run cli -- user link</span>
        </Text>
        <Languages />
      </Stack>
    </Center>
  );
}

const ICON = new URL('../../app/icon.svg', import.meta.url).href;

function Languages() {
  const chosen = currentLanguage();
  return (
    <Group justify="center" gap={4}>
      {(Object.keys(LANGUAGES) as Language[]).map((language) => (
        <Button
          key={language}
          lang={language}
          size="compact-xs"
          variant="subtle"
          color="gray"
          c="var(--mantine-color-text)"
          aria-pressed={language === chosen}
          fw={language === chosen ? 640 : 400}
          onClick={() => void chooseLanguage(language)}
        >
          {LANGUAGES[language].name}
        </Button>
      ))}
    </Group>
  );
}
