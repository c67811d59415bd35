import QRCode from 'qrcode';
import { useMemo } from 'react';

/** A QR code as one path. */
export function QrPicture({ text, label }: { text: string; label: string }) {
  const { size, path } = useMemo(() => draw(text), [text]);
  return (
    <svg
      viewBox={`0 0 ${size} ${size}`}
      width="232"
      height="232"
      role="img"
      aria-label={label}
      shapeRendering="crispEdges"
      data-code={text}
    >
      <path d={path} fill="currentColor" />
    </svg>
  );
}

function draw(text: string): { size: number; path: string } {
  const { size, data } = QRCode.create(text, { errorCorrectionLevel: 'L' }).modules;
  const squares = Array.from(data, (isDark, index) =>
    isDark ? `M${index % size} ${Math.floor(index / size)}h1v1h-1z` : '',
  );
  return { size, path: squares.join('') };
}
