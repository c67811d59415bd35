import type { Operation } from '../http/operation.js';
import { listAudit } from './audit.js';
import { makeDefault, nameDevice, paceDevice, removeDevice } from './devices/device-settings.js';
import { connectDevice, disconnectDevice, listDevices, showDevice, showHistory } from './devices/devices.js';
import { showPicture } from './devices/show-picture.js';
import { linkWithSimulatedPhone } from './devices/simulated-phone.js';
import { cancelMessage, findMessages, listMessages, listRecipients, showContent, showMessage } from './messages.js';
import { addOptOuts, findOptOut, liftOptOut, listOptOuts } from './opt-outs.js';
import { showOverview } from './overview.js';
import { previewMessage, sendMessage } from './send-message.js';
import { listSessions } from './sessions.js';
import { showPhone } from './show-phone.js';
import { setPassword, showMe, signIn, signInByLink, signOut, signOutEverywhere } from './sign-in.js';
import { createToken, listTokens, revokeToken } from './tokens.js';
import { createUser, listUsers, makeUserLink, removeUser, setUserRole } from './users.js';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  pauseWebhook,
  resumeWebhook,
  rotateWebhook,
  testWebhook,
} from './webhooks/change-webhooks.js';
import { replayWebhook } from './webhooks/replay-webhook.js';
import { listWebhooks, listWebhookTypes, showWebhook } from './webhooks/webhooks.js';

/** All that the page can ask for. */
export const OPERATIONS: readonly Operation[] = [
  ...[showMe, signIn, signInByLink, signOut, signOutEverywhere, setPassword, listSessions],
  showOverview,
  ...[listDevices, showDevice, showHistory, showPicture, connectDevice, disconnectDevice, linkWithSimulatedPhone],
  ...[nameDevice, makeDefault, paceDevice, removeDevice],
  ...[listMessages, findMessages, showMessage, showContent, listRecipients, cancelMessage, previewMessage, sendMessage],
  showPhone,
  ...[listTokens, createToken, revokeToken],
  ...[listOptOuts, findOptOut, addOptOuts, liftOptOut],
  // The types before the ids.
  ...[listWebhooks, listWebhookTypes, showWebhook, createWebhook, changeWebhook, deleteWebhook],
  ...[testWebhook, rotateWebhook, pauseWebhook, resumeWebhook, replayWebhook],
  ...[listUsers, createUser, makeUserLink, setUserRole, removeUser, listAudit],
];
