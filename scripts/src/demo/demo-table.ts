import type { DemoResult } from './demo-result.js';

/** What happened, for people. */
export function demoTable(result: DemoResult): string {
  const yesNo = (value: boolean) => (value ? 'yes' : 'no');
  const rows: [string, string, string][] = [
    ['linked by QR code', yesNo(result.linked), 'GET /status'],
    ['linked by pairing code', yesNo(result.pairedByCode), 'GET /status'],
    ['recipients accepted', String(result.accepted), 'POST /send'],
    ['sent: acknowledged by the network', String(result.sent), 'GET /messages/{id}'],
    ['delivered', String(result.delivered), 'GET /messages/{id}'],
    ['read', String(result.read), 'GET /messages/{id}'],
    ['failed', String(result.failed), 'GET /messages/{id}'],
    ['lost: on no phone', String(result.lost), 'the phones'],
    ['shown more than once', String(result.duplicates), 'the phones'],
    ['told as read', String(result.told), 'GET /events'],
    ['seconds from first send to last read', String(result.seconds), ''],
  ];
  return toTable([['', '', 'as told by'], ...rows]);
}

function toTable(rows: [string, string, string][]): string {
  const width = (column: 0 | 1 | 2) => Math.max(...rows.map((row) => row[column].length));
  const [first, second] = [width(0), width(1)];
  return rows
    .map(([name, value, source]) => `  ${name.padEnd(first)}   ${value.padStart(second)}   ${source}`.trimEnd())
    .join('\n');
}
