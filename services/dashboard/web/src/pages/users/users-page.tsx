import { Button } from '@mantine/core';
import { Plus } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useUsers } from '../../api/users.js';
import { Page } from '../../components/page.js';
import { Loaded } from '../../components/states/loaded.js';
import { SkeletonRows } from '../../components/states/skeleton-rows.js';
import { NewUserDialog } from './new-user-dialog.js';
import { UserTable } from './user-table.js';

/** Who may use the console, and what they may do. */
export function UsersPage() {
  const { t } = useTranslation();
  const users = useUsers();
  const [isOpen, setOpen] = useState(false);
  const add = (
    <Button leftSection={<Plus size={16} />} onClick={() => setOpen(true)}>
      {t('users.add')}
    </Button>
  );
  return (
    <Page title={t('users.title')} about={t('users.about')} actions={users.data && add}>
      <Loaded query={users} skeleton={<SkeletonRows />}>
        {(all) => <UserTable users={all} />}
      </Loaded>
      <NewUserDialog opened={isOpen} onClose={() => setOpen(false)} />
    </Page>
  );
}
