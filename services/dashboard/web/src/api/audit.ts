import type { AuditAction } from '@gateway/contracts/console/users';
import type { AuditView } from '@gateway/contracts/console/views';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { request } from './request.js';

export interface AuditFilter {
  user?: string | undefined;
  action?: AuditAction | undefined;
}

interface AuditPage {
  entries: AuditView[];
  next: string | null;
}

/** The newest first, page by page. */
export function useAudit({ user = '', action }: AuditFilter) {
  return useInfiniteQuery({
    queryKey: ['audit', user, action],
    queryFn: ({ pageParam }) =>
      request<AuditPage>(`/audit?${new URLSearchParams({ user, action: action ?? '', before: pageParam })}`),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next,
    select: ({ pages }) => pages.flatMap(({ entries }) => entries),
    placeholderData: keepPreviousData,
  });
}
