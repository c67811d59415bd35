/** Markers that tell the size of a picture: all of `C0` to `CF` but those of tables. */
const isFrame = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
/** Marker, length, precision, height, width, number of components. */
const FRAME_HEADER_BYTES = 10;
const BYTES_EACH = 2;

/**
 * What a JPEG of several scans takes until its last scan: all coefficients of all components, whatever size it is shown in.
 * `Infinity` if it does not say its size.
 */
export function coefficientBytes(jpeg: Buffer): number {
  const at = findFrame(jpeg);
  if (at === undefined) return Infinity;
  const pixels = jpeg.readUInt16BE(at + 5) * jpeg.readUInt16BE(at + 7);
  const factors = Array.from({ length: jpeg[at + 9]! }, (_, component) => {
    const both = jpeg[at + FRAME_HEADER_BYTES + 3 * component + 1] ?? 0;
    return { across: both >> 4, down: both & 15 };
  });
  const area = Math.max(...factors.map(({ across }) => across)) * Math.max(...factors.map(({ down }) => down));
  return BYTES_EACH * pixels * factors.reduce((sum, { across, down }) => sum + (across * down) / area, 0);
}

function findFrame(jpeg: Buffer): number | undefined {
  for (let at = 2; at + FRAME_HEADER_BYTES < jpeg.length; ) {
    if (jpeg[at] !== 0xff) return undefined;
    // Markers may be filled up from the left.
    if (jpeg[at + 1] === 0xff) at += 1;
    else if (isFrame(jpeg[at + 1]!)) return at;
    else at += 2 + jpeg.readUInt16BE(at + 2);
  }
  return undefined;
}
