import type { Overview, OverviewHours } from '@gateway/contracts/console/overview';
import { request } from './request.js';
import { useLive } from './use-live.js';

export function useOverview(hours: OverviewHours) {
  return useLive(
    `overview.${hours}`,
    async () => (await request<{ overview: Overview }>(`/overview?hours=${hours}`)).overview,
  );
}
