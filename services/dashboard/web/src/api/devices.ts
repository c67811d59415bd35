import type { DeviceView } from '@gateway/contracts/console/views';
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

export interface LinkRequest {
  method: 'qrCode' | 'pairingCode';
  phoneNumber?: string;
  forceNew?: boolean;
}

/** Ends when there is a code, which is in what the device says, or with the reason why there is none. */
export const connectDevice = (id: string, json: LinkRequest) =>
  request<{ status: DeviceView['status'] }>(`/devices/${id}/connect`, { json });

export const disconnectDevice = (id: string) => request<{ message: string }>(`/devices/${id}/disconnect`, { json: {} });

/** On a simulated network. Ends when the phone has scanned, or typed, all that the network wants. */
export const linkWithSimulatedPhone = (id: string) => request(`/devices/${id}/simulated-link`, { json: {} });
