import { REASONS } from '@gateway/contracts/devices/device-state';
import { type HeldRestriction, RESTRICTIONS } from '@gateway/contracts/devices/restriction';
import { Joi } from '../http/input/input-types.js';

/** Of a device: as `deriveStatus` and `describeRestriction` make them. */
export const statusFields = {
  status: Joi.string().valid('connected', 'connecting', 'disconnected').required(),
  phone: Joi.string().description('Number of the linked account; only when connected.'),
  name: Joi.string().description('Name of the account, or its number if it has none; only when connected.'),
  profilePic: Joi.string().description('URL of the profile picture; only when connected and visible.'),
  reason: Joi.string()
    .valid(...Object.keys(REASONS))
    .description(
      'Why the device is not connected. `no_sender`: no sender runs, or all are full; the network keeps what people write ' +
        'until a sender takes the device. On a connected device only `awaiting_backlog`: messages that people wrote while ' +
        'it was offline have not all arrived; lists wait for them, one-time passwords do not.',
    ),
  networkReason: Joi.string().description(
    'The reason that the network gave for closing the last connection; absent if it gave none.',
  ),
  restriction: Joi.object({
    kind: Joi.string()
      .valid(...Object.keys(RESTRICTIONS))
      .required(),
    since: Joi.string().required().description('ISO 8601: when the gateway learned of the restriction.'),
    until: Joi.string()
      .allow(null)
      .required()
      .description('ISO 8601: its end as given by the network; null when the network gives none.'),
  }).description(
    'The network does not let the account start new conversations. Messages to strangers wait until the restriction ends ' +
      'or they expire; all others go out. Absent when there is no restriction.',
  ),
};

export function describeRestriction({ kind, sinceMs, untilMs }: HeldRestriction) {
  return {
    kind,
    since: new Date(sinceMs).toISOString(),
    until: untilMs === undefined ? null : new Date(untilMs).toISOString(),
  };
}
