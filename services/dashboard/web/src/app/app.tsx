import { createTheme, DirectionProvider, MantineProvider, mergeThemeOverrides } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { X } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { queryClient } from '../api/query-client.js';
import { currentLanguage, LANGUAGES } from './language.js';
import { router } from './router.js';
import { readableColors, theme } from './theme.js';

export function App({ nonce }: { nonce: string }) {
  const { t } = useTranslation();
  const { dir } = LANGUAGES[currentLanguage()];
  return (
    <DirectionProvider key={dir} initialDirection={dir} detectDirection={false}>
      <MantineProvider
        theme={mergeThemeOverrides(theme, wordsOf(t('dialog.close')))}
        cssVariablesResolver={readableColors}
        defaultColorScheme="auto"
        getStyleNonce={() => nonce}
      >
        <QueryClientProvider client={queryClient}>
          <Notifications position="bottom-center" />
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </DirectionProvider>
  );
}

/** What Mantine says without being given a word for it. */
const wordsOf = (close: string) =>
  createTheme({
    components: {
      Notification: { defaultProps: { closeButtonProps: { 'aria-label': close } } },
      // Its own icon is a picture without a name.
      CloseButton: { defaultProps: { icon: <X size={18} /> } },
    },
  });
