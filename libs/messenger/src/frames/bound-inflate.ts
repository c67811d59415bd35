import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { CompressCallback, InputType, ZlibOptions } from 'node:zlib';

/**
 * Of a frame of the network, sealed and inflated. The protocol's header could say 16 MiB, and a frame could inflate to
 * sixteen gigabytes; the largest that we know (answers about a hundred people, their keys, a blocked list) have some hundred
 * kilobytes. The library decodes one in one go: the slowest of a megabyte cost it 100 to 150 ms.
 */
export const MAX_FRAME_BYTES = 1024 * 1024;

const zlib = createRequire(import.meta.url)('node:zlib') as { inflate: Inflate };
type Inflate = (bytes: InputType, ...rest: [CompressCallback] | [ZlibOptions, CompressCallback]) => void;
const original = zlib.inflate;

// The library takes `inflate` when it is loaded, and names no bound when it inflates a frame.
zlib.inflate = (bytes, ...rest) => {
  const [options, done] = rest.length === 2 ? rest : [{ maxOutputLength: MAX_FRAME_BYTES }, rest[0]];
  original(bytes, options, done);
};
syncBuiltinESMExports();

/** To be called when the library is loaded: others inflate as before. */
export function endBound(): void {
  zlib.inflate = original;
  syncBuiltinESMExports();
}
