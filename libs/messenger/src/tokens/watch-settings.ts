import { type BaileysSocket, type BinaryNode, getBinaryNodeChild, getBinaryNodeChildren } from '../socket/baileys.js';

/**
 * Hears the settings ("props") that the network hands out at each login, by their numbers; those that are no yes or no
 * come as a no. The library says which it has, and the network then leaves out what has not changed: keep what matters.
 */
export function watchSettings(sock: BaileysSocket, onSettings: (settings: ReadonlyMap<string, boolean>) => void): void {
  sock.ws.on('CB:iq,,props', (answer: BinaryNode) => {
    const settings = new Map<string, boolean>();
    for (const { attrs } of getBinaryNodeChildren(getBinaryNodeChild(answer, 'props'), 'prop')) {
      const { config_code: code, config_value: value } = attrs;
      if (code && value !== undefined) settings.set(code, value === '1' || value === 'true');
    }
    onSettings(settings);
  });
}
