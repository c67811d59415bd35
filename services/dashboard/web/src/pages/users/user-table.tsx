import { USER_ROLES, type UserRole } from '@gateway/contracts/console/users';
import type { UserView } from '@gateway/contracts/console/views';
import { Badge, Button, Group, Modal, NativeSelect, Table, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session.js';
import { makeUserLink, removeUser, setUserRole, type UserLink } from '../../api/users.js';
import { ConfirmDialog } from '../../components/confirm-dialog.js';
import { Moment } from '../../components/moment.js';
import { useFailureText } from '../../components/states/failure.js';
import { TablePanel } from '../../components/tables/table-panel.js';
import { LinkMade } from './link-made.js';

const COLUMNS = ['name', 'role', 'sessions', 'created'] as const;

export function UserTable({ users }: { users: readonly UserView[] }) {
  const { t } = useTranslation();
  const [leaving, setLeaving] = useState<string>();
  const [isAsking, setAsking] = useState(false);
  const [link, setLink] = useState<UserLink>();
  const [isShown, setShown] = useState(false);
  const showFailure = useShowFailure();
  const { mutate: makeLink } = useMutation({
    mutationFn: makeUserLink,
    onSuccess: (made) => {
      setLink(made);
      setShown(true);
    },
    onError: showFailure,
  });
  return (
    <>
      <TablePanel
        label={t('users.title')}
        columns={COLUMNS.map((column) => t(`users.columns.${column}`))}
        deeds={t('users.remove')}
      >
        {users.map((user) => (
          <Row
            key={user.name}
            user={user}
            onLink={() => makeLink(user.name)}
            onRemove={() => {
              setLeaving(user.name);
              setAsking(true);
            }}
          />
        ))}
      </TablePanel>
      <ConfirmDialog
        opened={isAsking}
        onClose={() => setAsking(false)}
        title={t('users.removeTitle', { name: leaving })}
        about={t('users.removeAbout')}
        deed={t('users.remove')}
        onConfirm={() => removeUser(leaving ?? '')}
      />
      <Modal
        opened={isShown}
        onClose={() => setShown(false)}
        size="lg"
        title={t('users.link.title', { name: link?.name })}
        closeButtonProps={{ 'aria-label': t('dialog.close') }}
      >
        {link && <LinkMade link={link} onDone={() => setShown(false)} />}
      </Modal>
    </>
  );
}

interface RowProps {
  user: UserView;
  onLink: () => void;
  onRemove: () => void;
}

function Row({ user: { name, role, hasPassword, sessions, createdAtMs }, onLink, onRemove }: RowProps) {
  const { t } = useTranslation();
  const isSelf = useMe().user.name === name;
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm" fw={560} maw={{ base: 260, sm: 140, lg: 260 }} truncate>
          <bdi>{name}</bdi>
          {isSelf && (
            <Badge size="xs" variant="default" ms={8} fw={520} tt="none">
              {t('users.self')}
            </Badge>
          )}
        </Text>
        {!hasPassword && (
          <Text size="xs" c="dimmed">
            {t('users.noPassword')}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{isSelf ? t(`roles.${role}`) : <RoleChoice name={name} role={role} />}</Table.Td>
      <Table.Td className="figures">
        {sessions > 0 ? t('users.sessions', { count: sessions }) : t('users.away')}
      </Table.Td>
      <Table.Td>
        <Moment ms={createdAtMs} />
      </Table.Td>
      <Table.Td>
        <Group justify="flex-end" gap={6} wrap="nowrap">
          <Button size="compact-sm" variant="default" onClick={onLink} aria-label={`${t('users.makeLink')}: ${name}`}>
            {t('users.makeLink')}
          </Button>
          {!isSelf && (
            <Button size="compact-sm" variant="default" onClick={onRemove} aria-label={`${t('users.remove')}: ${name}`}>
              {t('users.remove')}
            </Button>
          )}
        </Group>
      </Table.Td>
    </Table.Tr>
  );
}

/** Counts as soon as it is chosen. */
function RoleChoice({ name, role }: { name: string; role: UserRole }) {
  const { t } = useTranslation();
  const showFailure = useShowFailure();
  const { mutate, isPending, variables } = useMutation({
    mutationFn: setUserRole,
    onSuccess: () => notifications.show({ message: t('users.roleSet') }),
    onError: showFailure,
  });
  return (
    <NativeSelect
      size="xs"
      w={98}
      aria-label={t('users.roleOf', { name })}
      value={isPending ? variables.role : role}
      disabled={isPending}
      onChange={({ currentTarget: { value } }) => mutate({ name, role: value as UserRole })}
      data={USER_ROLES.map((each) => ({ value: each, label: t(`roles.${each}`) }))}
    />
  );
}

function useShowFailure(): (error: Error) => void {
  const textOf = useFailureText();
  return (error) => void notifications.show({ color: 'red', message: textOf(error) });
}
