import { checkContacts } from './devices/check-contacts.js';
import { connectDevice } from './devices/connect-device.js';
import { disconnectDevice } from './devices/disconnect-device.js';
import { listDevices } from './devices/list-devices.js';
import { showStatus } from './devices/show-status.js';
import { listEvents } from './events/list-events.js';
import { showEvent } from './events/show-event.js';
import { streamEvents } from './events/stream-events.js';
import type { Endpoint } from './http/endpoint.js';
import { showMedia } from './media/show-media.js';
import { addOptOuts } from './opt-outs/add-opt-outs.js';
import { listOptOuts } from './opt-outs/list-opt-outs.js';
import { removeOptOut } from './opt-outs/remove-opt-out.js';
import { showOptOut } from './opt-outs/show-opt-out.js';
import { cancelMessage } from './sends/cancel-message.js';
import { listMessages } from './sends/list-messages.js';
import { sendMessage } from './sends/send-message.js';
import { sendOtp } from './sends/send-otp.js';
import { showMessage } from './sends/show-message.js';
import { changeWebhook } from './webhooks/change-webhook.js';
import { createWebhook } from './webhooks/create-webhook.js';
import { deleteWebhook } from './webhooks/delete-webhook.js';
import { listDeliveries } from './webhooks/list-deliveries.js';
import { listParked } from './webhooks/list-parked.js';
import { listWebhooks } from './webhooks/list-webhooks.js';
import { pauseWebhook, resumeWebhook } from './webhooks/pause-webhook.js';
import { replayWebhook } from './webhooks/replay-webhook.js';
import { rotateSecret } from './webhooks/rotate-secret.js';
import { showWebhook } from './webhooks/show-webhook.js';
import { testWebhook } from './webhooks/test-webhook.js';

export const BASE_PATH = '/api/messenger/v1';

/** Every endpoint of the API. A new one: a file in the folder of its subject, and a line here. */
export const ENDPOINTS: readonly Endpoint[] = [
  connectDevice,
  showStatus,
  listDevices,
  disconnectDevice,
  sendMessage,
  sendOtp,
  listMessages,
  showMessage,
  cancelMessage,
  checkContacts,
  showMedia,
  listEvents,
  // Before the ids: it has no id's form.
  streamEvents,
  showEvent,
  listOptOuts,
  addOptOuts,
  showOptOut,
  removeOptOut,
  createWebhook,
  listWebhooks,
  showWebhook,
  changeWebhook,
  deleteWebhook,
  testWebhook,
  rotateSecret,
  pauseWebhook,
  resumeWebhook,
  replayWebhook,
  listParked,
  listDeliveries,
];
