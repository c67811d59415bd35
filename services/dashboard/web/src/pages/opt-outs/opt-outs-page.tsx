import { Button } from '@mantine/core';
import { BellOff, Plus } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useOptOuts } from '../../api/opt-outs.js';
import { useMe } from '../../api/session.js';
import { Page } from '../../components/page.js';
import { Empty } from '../../components/states/empty.js';
import { Loaded } from '../../components/states/loaded.js';
import { ShowMore } from '../../components/states/show-more.js';
import { SkeletonRows } from '../../components/states/skeleton-rows.js';
import { AddDialog } from './add-dialog.js';
import { FindPerson } from './find-person.js';
import { OptOutTable } from './opt-out-table.js';

/** People who get no messages any more. */
export function OptOutsPage() {
  const { t } = useTranslation();
  const optOuts = useOptOuts();
  const [isOpen, setOpen] = useState(false);
  const mayChange = useMe().user.role !== 'viewer';
  const add = mayChange && (
    <Button leftSection={<Plus size={16} />} onClick={() => setOpen(true)}>
      {t('optOuts.add')}
    </Button>
  );
  return (
    <Page title={t('optOuts.title')} about={t('optOuts.about')} actions={optOuts.data?.total ? add : undefined}>
      <Loaded query={optOuts} skeleton={<SkeletonRows />}>
        {({ total, people }) =>
          people.length === 0 ? (
            <Empty
              icon={<BellOff size={36} strokeWidth={1.4} />}
              title={t('optOuts.empty.title')}
              about={t('optOuts.empty.about')}
              action={add}
            />
          ) : (
            <>
              {mayChange && <FindPerson />}
              <OptOutTable people={people} total={total} mayLift={mayChange} />
            </>
          )
        }
      </Loaded>
      <ShowMore query={optOuts} />
      <AddDialog opened={isOpen} onClose={() => setOpen(false)} />
    </Page>
  );
}
