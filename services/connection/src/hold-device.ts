import { defer } from '@gateway/runtime/deferred';
import { listMembers } from '@gateway/store/members';
import { type DeviceTask, observe, openTaskSession } from './device-task.js';

const LOOK_FOR_SENDER_MS = 1_000;

/**
 * Keeps a linked device connected while no sender has room for it, and lets go as soon as one does. It does not send,
 * and it does not reconnect: when the socket ends, the device is free again, and whoever is first takes it.
 */
export async function holdDevice(task: DeviceTask & { workspace: string }): Promise<void> {
  const { signal, store, workspace } = task;
  const closed = defer<void>();
  const session = await openTaskSession(task, {
    onOpen: ({ phone, name }) => {
      void observe(task, { status: 'connected', phone, name: name ?? phone }).catch(() => closed.resolve());
    },
    onClosed: () => closed.resolve(),
  });
  const timer = setInterval(() => {
    void listMembers(store, workspace, 'sender')
      .then((members) => members.some(({ held, capacity }) => held < capacity) && closed.resolve())
      .catch(() => {});
  }, LOOK_FOR_SENDER_MS);
  signal.addEventListener('abort', () => closed.resolve(), { once: true });
  await closed.promise;
  clearInterval(timer);
  await session.close();
}
