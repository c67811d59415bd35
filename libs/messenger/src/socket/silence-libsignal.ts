/**
 * libsignal writes to the console: whole session objects with their private keys, and lines that no log can parse.
 * What it has to say about a failed decryption reaches our log through Baileys as well.
 */
const LIBSIGNAL_LINES = [
  'Closing session:',
  'Opening session:',
  'Session already closed',
  'Session already open',
  'Removing old closed session:',
  'Closing open session in favor of incoming prekey bundle',
  'Decrypted message with closed session.',
  'Migrating session to:',
  'Unhandled bucket type (for naming):',
  'WARNING: Expected pubkey of length 33',
];

for (const level of ['info', 'warn', 'error'] as const) {
  const write = console[level].bind(console);
  console[level] = (...values: unknown[]) => {
    if (!isFromLibsignal(values[0])) write(...values);
  };
}

function isFromLibsignal(first: unknown): boolean {
  return typeof first === 'string' && LIBSIGNAL_LINES.some((line) => first.startsWith(line));
}
