import { GatewayError } from '@gateway/runtime/errors';

/** The network sent more in one frame than any that we know of. */
export class FrameTooLargeError extends GatewayError {
  constructor(bytes: number) {
    super({ code: 'frame_too_large', message: 'a frame of the network is too large', fields: { bytes } });
  }
}

/** What `ws` says of a message, and zlib of what it inflates. */
const TOO_LARGE: ReadonlySet<unknown> = new Set(['WS_ERR_UNSUPPORTED_MESSAGE_LENGTH', 'ERR_BUFFER_TOO_LARGE']);

/** Whether that is why reading failed; `error` may be the library's, with the cause as its data. */
export function isTooLarge(error: unknown): boolean {
  if (error instanceof FrameTooLargeError) return true;
  const { code, data } = (error ?? {}) as { code?: unknown; data?: { code?: unknown } | null };
  return TOO_LARGE.has(code) || TOO_LARGE.has(data?.code);
}
