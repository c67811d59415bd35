import type { Operation } from '../http/operation.js';
import { connectDevice, disconnectDevice, listDevices, showDevice } from './devices.js';
import { setPassword, showMe, signIn, signInByLink, signOut, signOutEverywhere } from './sign-in.js';
import { createToken, listTokens, revokeToken } from './tokens.js';

/** All that the page can ask for. */
export const OPERATIONS: readonly Operation[] = [
  ...[showMe, signIn, signInByLink, signOut, signOutEverywhere, setPassword],
  ...[listDevices, showDevice, connectDevice, disconnectDevice],
  ...[listTokens, createToken, revokeToken],
];
