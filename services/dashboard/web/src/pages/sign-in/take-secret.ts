/**
 * The secret of a one-time link, which browsers send to no server: `/console/sign-in#link=...`. It is taken out of the
 * address, so that it stays neither in the history nor on the screen.
 */
export function takeSecret(): string | undefined {
  const secret = /^#link=([\w-]+)$/.exec(window.location.hash)?.[1];
  if (secret !== undefined) window.history.replaceState(window.history.state, '', window.location.pathname);
  return secret;
}
