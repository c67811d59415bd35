/** Not `AbortSignal.any` with `AbortSignal.timeout`: on Node 20 a garbage collection makes that last for ever. */
export function endOf(signal: AbortSignal, timeoutMs: number): { signal: AbortSignal; forget(): void } {
  const end = new AbortController();
  const abort = () => end.abort();
  const timer = setTimeout(abort, timeoutMs);
  signal.addEventListener('abort', abort);
  if (signal.aborted) abort();
  const forget = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  };
  return { signal: end.signal, forget };
}
