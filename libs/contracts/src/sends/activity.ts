import { RECIPIENT_STATUSES } from './statuses.js';

/**
 * What is counted in each minute, in the order of its place: recipients that came to have a status or to be beyond it (one that is
 * read was sent and delivered, too; those that were accepted are `queued`), then the ms from the attempt to the first word of the network
 * of all that became `sent`. An hour is one string: 60 minutes of these, each an
 * unsigned big-endian integer.
 */
export const ACTIVITY_FIELDS = [...RECIPIENT_STATUSES, 'ackMs'] as const;
export type ActivityField = (typeof ACTIVITY_FIELDS)[number];
export const ACTIVITY_BYTES = 4;

export type MinuteActivity = Record<ActivityField, number>;

/** Of the string of an hour: its minute 0 to 59. All are zero where nothing was counted. */
export function unpackMinute(hour: Buffer, minute: number): MinuteActivity {
  const counts = ACTIVITY_FIELDS.map((field, place) => {
    const at = (minute * ACTIVITY_FIELDS.length + place) * ACTIVITY_BYTES;
    return [field, at + ACTIVITY_BYTES <= hour.length ? hour.readUIntBE(at, ACTIVITY_BYTES) : 0];
  });
  return Object.fromEntries(counts) as MinuteActivity;
}

/** Of several minutes, or places. */
export function sumActivity(each: readonly MinuteActivity[]): MinuteActivity {
  return Object.fromEntries(
    ACTIVITY_FIELDS.map((field) => [field, each.reduce((sum, counts) => sum + counts[field], 0)]),
  ) as MinuteActivity;
}
