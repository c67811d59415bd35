import { normalizePhoneNumber } from '@gateway/contracts/people/normalize-phone-number';
import { Button, Modal, Stack, Text, Textarea } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { addOptOuts } from '../../api/opt-outs.js';
import { Failure } from '../../components/states/failure.js';

const MOST = 2_000;
const SHOWN = 5;

/** Adds people, by numbers that are typed or pasted: one a line. */
export function AddDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState('');
  const [isChecked, setChecked] = useState(false);
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: addOptOuts,
    onSuccess: ({ added, unchanged }) => {
      notifications.show({ message: t('optOuts.added', { count: added, unchanged }) });
      close();
    },
  });
  const close = () => {
    setText('');
    setChecked(false);
    reset();
    onClose();
  };
  const { numbers, wrong } = readLines(text);
  const problem = useProblem({ numbers, wrong });
  const submit = () => {
    setChecked(true);
    if (problem === undefined) mutate(numbers);
  };
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={t('optOuts.add')}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <Stack>
          <Textarea
            label={t('optOuts.new.numbers')}
            description={t('optOuts.new.numbersAbout')}
            error={isChecked && problem}
            rows={8}
            dir="ltr"
            data-autofocus
            value={text}
            onChange={({ currentTarget: { value } }) => setText(value)}
          />
          <Text size="sm" c="dimmed">
            {t('optOuts.new.about')}
          </Text>
          {error && <Failure error={error} />}
          <Button type="submit" loading={isPending}>
            {numbers.length > 0 ? t('optOuts.new.go', { count: numbers.length }) : t('optOuts.add')}
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}

interface Lines {
  numbers: string[];
  /** Of the lines that hold no number, counted from 1. */
  wrong: number[];
}

function readLines(text: string): Lines {
  const lines: Lines = { numbers: [], wrong: [] };
  for (const [index, line] of text.split(/\r?\n|[,;]/).entries()) {
    if (line.trim() === '') continue;
    const number = normalizePhoneNumber(line.trim());
    if (number === undefined) lines.wrong.push(index + 1);
    else lines.numbers.push(number);
  }
  return lines;
}

function useProblem({ numbers, wrong }: Lines): string | undefined {
  const { t } = useTranslation();
  if (wrong.length > 0) {
    const shown = wrong.slice(0, SHOWN).join(', ') + (wrong.length > SHOWN ? ', …' : '');
    return t('optOuts.new.wrong', { count: wrong.length, lines: shown });
  }
  if (numbers.length > MOST) return t('optOuts.new.tooMany', { count: MOST });
  return numbers.length === 0 ? t('optOuts.new.none') : undefined;
}
