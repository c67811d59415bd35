import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';

/** What a request asks for; `undefined` when that is no URL, such as `//`. */
export function readUrl({ url = '/' }: IncomingMessage): URL | undefined {
  return URL.canParse(url, 'http://simulator') ? new URL(url, 'http://simulator') : undefined;
}

/**
 * Whether a request comes from a program that means this server. A page in a browser of this machine can reach it, too:
 * under a name of its own that it points here (`Host`), or as a page of another site (`Origin`).
 */
export function isMeantForUs({ headers }: IncomingMessage, listensOn: string): boolean {
  const { host, origin } = headers;
  return isOwnName(host && `http://${host}`, listensOn) && (origin === undefined || isOwnName(origin, listensOn));
}

/** Whether a request for a WebSocket comes from a program, under whatever name it knows this server, and not from a page of another site. */
export function isFromClient({ headers: { origin } }: IncomingMessage, listensOn: string): boolean {
  return origin === undefined || origin === CLIENTS_ORIGIN || isOwnName(origin, listensOn);
}

/** What client libraries say of themselves. */
const CLIENTS_ORIGIN = 'https://web.whatsapp.com';

function isOwnName(url: string | undefined, listensOn: string): boolean {
  if (url === undefined || !URL.canParse(url)) return false;
  const { hostname, username } = new URL(url);
  const name = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (username || !name) return false;
  return name === listensOn.toLowerCase() || isLoopback(name) || (isEverywhere(listensOn) && isOwnAddress(name));
}

function isLoopback(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || name === '::1' || /^127(\.\d+){3}$/.test(name);
}

function isEverywhere(listensOn: string): boolean {
  return ['0.0.0.0', '::'].includes(listensOn);
}

function isOwnAddress(name: string): boolean {
  if (isIP(name) === 0) return false;
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === name));
}
