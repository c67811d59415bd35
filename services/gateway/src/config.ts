import { listFields } from '@gateway/runtime/config/list-fields';
import { readConfig } from '@gateway/runtime/config/read-config';
import { findUnknownSettings, type UnknownSetting } from './find-unknown-settings.js';
import { type ProcessConfig, SETTINGS } from './settings.js';

/** Throws an error that names every variable with a problem. */
export function readProcessConfig(environment: NodeJS.ProcessEnv = process.env): ProcessConfig {
  return readConfig(SETTINGS.process, environment);
}

/** Variables that look like settings of ours, and are none. */
export function listUnknownSettings(environment: NodeJS.ProcessEnv = process.env): UnknownSetting[] {
  const known = Object.values(SETTINGS).flatMap(listFields);
  return findUnknownSettings(Object.keys(environment), new Set(known));
}
