import type { RecipientRow } from '@gateway/contracts/console/send-views';
import { readRecipients } from '../../api/messages.js';

/** A cell that a spreadsheet takes for text, and never for a formula. */
function toCell(value: string): string {
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const HEAD = ['number', 'status', 'error', 'at'];

/** Hands these recipients to the browser as a file. */
export async function saveCsv(id: string, places: readonly number[]): Promise<void> {
  const rows = (await readRecipients(id, places)).map(({ to, status, error = '', atMs }: RecipientRow) => [
    ...[to, status, error, new Date(atMs).toISOString()],
  ]);
  const text = [HEAD, ...rows].map((cells) => cells.map(toCell).join(',')).join('\r\n');
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  link.download = `${id}.csv`;
  link.click();
  URL.revokeObjectURL(link.href);
}
