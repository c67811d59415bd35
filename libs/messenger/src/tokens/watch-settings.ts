import { type BaileysSocket, type BinaryNode, getBinaryNodeChild, getBinaryNodeChildren } from '../socket/baileys.js';

/**
 * Reads the settings ("props") that the network sends at each login, by their numbers; those that are not boolean
 * read as false. The library sends the version it has, and the network leaves out unchanged ones: keep what matters.
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
