import type { ActiveSends } from '@gateway/sender/scheduling/active-sends';
import type { SendProgress, WorkItem } from '@gateway/sender/scheduling/send-progress';

/** The next one of a send, which goes out now. */
export const takeReady = (send: SendProgress): WorkItem | undefined => takeOf(send, send.nextReady);

export const takeAlone = (send: SendProgress): WorkItem | undefined => takeOf(send, send.nextAlone);

export const takeNext = (sends: ActiveSends): WorkItem | undefined => takeOf(sends, sends.next());

function takeOf(from: SendProgress | ActiveSends, item: WorkItem | undefined): WorkItem | undefined {
  return item && from.take(item) ? item : undefined;
}
