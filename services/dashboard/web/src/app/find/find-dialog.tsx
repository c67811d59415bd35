import { Loader, Modal, Stack, Text, TextInput, VisuallyHidden } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { Search } from 'lucide-react';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Failure } from '../../components/states/failure.js';
import classes from './find.module.css';
import { withoutSecret } from './read-query.js';
import { type Finding, useFindings } from './use-findings.js';

/** Finds pages, devices, messages, recipients and tokens by whatever someone has at hand of them. */
export function FindDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation();
  // Not at once: a dialog that is open from the start does not know whom to give the focus back to.
  const [isShown, show] = useState(false);
  useEffect(() => show(opened), [opened]);
  return (
    <Modal
      opened={isShown}
      onClose={onClose}
      title={t('find.title')}
      size="lg"
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
    >
      <FindBox onDone={onClose} />
    </Modal>
  );
}

/**
 * The combobox pattern of WAI-ARIA: the focus stays in the field, arrows choose an option, Enter goes there. Mantine's own names no
 * chosen option to screen readers. Made anew each time that the dialog opens: nothing that was sought stays.
 */
function FindBox({ onDone }: { onDone: () => void }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const listId = useId();
  const [typed, setTyped] = useState('');
  const [chosen, choose] = useState(0);
  const { found, note, error, isLooking } = useFindings(typed);
  const optionId = (index: number) => `${listId}-${index}`;
  const go = ({ link }: Finding) => {
    onDone();
    void navigate(link);
  };
  const ids = found.map(({ id }) => id).join();
  // biome-ignore lint/correctness/useExhaustiveDependencies: when something else is found, its first is chosen.
  useEffect(() => choose(0), [ids]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.nativeEvent.isComposing || found.length === 0 || (step === undefined && event.key !== 'Enter')) return;
    event.preventDefault();
    if (step !== undefined) choose((chosen + step + found.length) % found.length);
    else if (found[chosen]) go(found[chosen]);
  };
  return (
    <Stack gap="sm">
      <TextInput
        label={t('find.label')}
        description={t('find.about')}
        dir="auto"
        data-autofocus
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        leftSection={isLooking ? <Loader size={14} /> : <Search size={16} />}
        role="combobox"
        aria-autocomplete="list"
        aria-expanded={found.length > 0}
        aria-controls={listId}
        aria-activedescendant={found[chosen] && optionId(chosen)}
        value={typed}
        onChange={({ currentTarget: { value } }) => setTyped(withoutSecret(value))}
        onKeyDown={onKeyDown}
      />
      <div
        id={listId}
        role="listbox"
        aria-label={t('find.results')}
        className={classes.list}
        hidden={found.length === 0}
      >
        {found.map((finding, index) => (
          <Option
            key={finding.id}
            id={optionId(index)}
            finding={finding}
            isChosen={index === chosen}
            onPoint={() => choose(index)}
            onGo={() => go(finding)}
          />
        ))}
      </div>
      {/* What is in it is read out when it changes. */}
      <div role="status">
        {!isLooking && !error && (
          <Said isHidden={found.length > 0}>
            {note ?? (found.length > 0 ? t('find.count', { count: found.length }) : t('find.nothing'))}
          </Said>
        )}
      </div>
      {error && <Failure error={error} />}
    </Stack>
  );
}

/** On the screen a list says by itself how long it is. */
function Said({ isHidden, children }: { isHidden: boolean; children: string }) {
  if (isHidden) return <VisuallyHidden>{children}</VisuallyHidden>;
  return (
    <Text size="sm" c="dimmed">
      {children}
    </Text>
  );
}

interface OptionProps {
  id: string;
  finding: Finding;
  isChosen: boolean;
  onPoint: () => void;
  onGo: () => void;
}

function Option({ id, finding: { label, about }, isChosen, onPoint, onGo }: OptionProps) {
  const option = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isChosen) option.current?.scrollIntoView({ block: 'nearest' });
  }, [isChosen]);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field, which has the focus.
    <div
      ref={option}
      id={id}
      role="option"
      aria-selected={isChosen}
      className={classes.option}
      onClick={onGo}
      onMouseMove={onPoint}
    >
      <Text size="sm" fw={560} truncate component="div">
        {label}
      </Text>
      {about && (
        <Text size="xs" component="div" className={classes.about}>
          {about}
        </Text>
      )}
    </div>
  );
}
