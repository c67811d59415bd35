import type { Endpoint } from './endpoint.js';
import { addOptOuts } from './endpoints/add-opt-outs.js';
import { cancelMessage } from './endpoints/cancel-message.js';
import { checkContacts } from './endpoints/check-contacts.js';
import { connectDevice } from './endpoints/connect-device.js';
import { disconnectDevice } from './endpoints/disconnect-device.js';
import { listOptOuts } from './endpoints/list-opt-outs.js';
import { removeOptOut } from './endpoints/remove-opt-out.js';
import { sendMessage } from './endpoints/send-message.js';
import { sendOtp } from './endpoints/send-otp.js';
import { showMessage } from './endpoints/show-message.js';
import { showOptOut } from './endpoints/show-opt-out.js';
import { showStatus } from './endpoints/show-status.js';

export const BASE_PATH = '/api/messenger/v1';

/** Every endpoint of the API. A new one: a file in `endpoints/`, and a line here. */
export const ENDPOINTS: readonly Endpoint[] = [
  connectDevice,
  showStatus,
  disconnectDevice,
  sendMessage,
  sendOtp,
  showMessage,
  cancelMessage,
  checkContacts,
  listOptOuts,
  addOptOuts,
  showOptOut,
  removeOptOut,
];
