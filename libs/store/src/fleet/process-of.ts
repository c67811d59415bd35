/** The process that a session belongs to: sessions are named after it, and counted. */
export function processOf(sessionId: string): string {
  return sessionId.slice(0, sessionId.lastIndexOf('.'));
}
