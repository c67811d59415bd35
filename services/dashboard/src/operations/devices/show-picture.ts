import { readDeviceState } from '@gateway/store/devices/device-state';
import { operation } from '../../http/operation.js';
import { deviceOf } from './device-of.js';

/** The picture of the account; 204 without one. Its address has a part that changes with it, so browsers keep it. */
export const showPicture = operation({
  method: 'get',
  path: '/devices/:device/picture',
  for: 'viewer',
  async handle({ params }, { store, workspace, pictures }) {
    const { observed } = await readDeviceState(store, { workspace, device: deviceOf(params) });
    const url = observed?.status === 'connected' ? observed.profilePic : undefined;
    const picture = url === undefined ? undefined : await pictures.read(url);
    return picture ? { body: {}, file: picture } : { status: 204, body: {} };
  },
});
