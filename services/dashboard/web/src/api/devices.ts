import type { DeviceView } from '@gateway/contracts/console/views';
import type { DeviceChange } from '@gateway/contracts/devices/device-state';
import type { Pace } from '@gateway/contracts/devices/pace';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { keyOf, queryClient } from './query-client.js';
import { request } from './request.js';
import { useLive } from './use-live.js';

export function useDevices() {
  return useLive('devices', async () => (await request<{ devices: DeviceView[] }>('/devices')).devices);
}

/** `null` for a device that was never made. */
export function useDevice(id: string) {
  return useLive<DeviceView | null>(
    `device.${id}`,
    async () => (await request<{ device: DeviceView | null }>(`/devices/${id}`)).device,
  );
}

/** Its last changes of state, the newest first; read anew when its state is another. */
export function useHistory(id: string, view: DeviceView | null | undefined) {
  return useQuery({
    queryKey: ['history', id, view?.status, view?.reason],
    queryFn: async () => (await request<{ history: DeviceChange[] }>(`/devices/${id}/history`)).history,
    placeholderData: keepPreviousData,
  });
}

/** Where the picture of the account is, if it has one. */
export function pictureOf({ id, picture }: DeviceView): string | undefined {
  return picture && `/console/api/devices/${id}/picture?v=${picture}`;
}

export interface LinkRequest {
  method: 'qrCode' | 'pairingCode';
  phoneNumber?: string;
  forceNew?: boolean;
}

/** Ends when there is a code, which is in what the device says, or with the reason why there is none. */
export const connectDevice = (id: string, json: LinkRequest) =>
  request<{ status: DeviceView['status'] }>(`/devices/${id}/connect`, { json });

export const disconnectDevice = (id: string) => request<{ message: string }>(`/devices/${id}/disconnect`, { json: {} });

export const nameDevice = ({ id, name }: { id: string; name: string }) => change(id, 'name', { name });

/** Tokens without a device act on it from now on. */
export const makeDefault = (id: string) => change(id, 'default', {});

/** @param pace without one that of the senders. */
export const paceDevice = ({ id, pace }: { id: string; pace: Pace | undefined }) =>
  change(id, 'pace', pace ?? { messagesPerMinute: null });

export const removeDevice = (id: string) => change(id, 'remove', {});

async function change(id: string, what: string, json: object): Promise<void> {
  await request(`/devices/${id}/${what}`, { json });
  const topics = [`device.${id}`, 'devices'].map((topic) => queryClient.invalidateQueries({ queryKey: keyOf(topic) }));
  await Promise.all(topics);
}

/** On a simulated network. Ends when the phone has scanned, or typed, all that the network wants. */
export const linkWithSimulatedPhone = (id: string) => request(`/devices/${id}/simulated-link`, { json: {} });
