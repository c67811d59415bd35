import { Button } from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { Search } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './find.module.css';

const FindDialog = lazy(async () => ({ default: (await import('./find-dialog.js')).FindDialog }));

/** The way to everything: a button, and Ctrl-K from wherever one is, also out of a field. */
export function FindButton() {
  const { t } = useTranslation();
  const [opened, { open, close }] = useDisclosure();
  const [isWanted, want] = useState(false);
  useHotkeys([['mod+K', open]], [], true);
  useEffect(() => {
    if (opened) want(true);
  }, [opened]);
  return (
    <>
      <Button
        variant="default"
        size="compact-md"
        leftSection={<Search size={15} />}
        rightSection={
          <kbd className={classes.key} aria-hidden>
            Ctrl K
          </kbd>
        }
        onClick={open}
        aria-keyshortcuts="Control+K Meta+K"
        visibleFrom="sm"
        fz="sm"
        fw={500}
      >
        {t('find.title')}
      </Button>
      <Button variant="default" size="compact-md" onClick={open} aria-label={t('find.title')} hiddenFrom="sm">
        <Search size={15} />
      </Button>
      {isWanted && (
        <Suspense>
          <FindDialog opened={opened} onClose={close} />
        </Suspense>
      )}
    </>
  );
}
