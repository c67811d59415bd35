import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './send.module.css';

const GAP_PX = 1;

/** A cell for each recipient, in the colour of the status. What it shows is in words beside it. */
export function SendMap({ statuses }: { statuses: string }) {
  const { t } = useTranslation();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const scheme = useComputedColorScheme();
  useEffect(() => {
    const frame = canvas.current?.parentElement;
    if (!frame) return;
    const observer = new ResizeObserver(() => setWidth(frame.clientWidth));
    observer.observe(frame);
    return () => observer.disconnect();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with another scheme the same variables are other colours.
  useEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, statuses, width);
  }, [statuses, width, scheme]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <div className={classes.map} tabIndex={0} role="group" aria-label={t('send.map')}>
      <canvas ref={canvas} role="img" aria-label={t('send.map')} />
    </div>
  );
}

function draw(canvas: HTMLCanvasElement, statuses: string, width: number): void {
  const cell = statuses.length > 2_000 ? 6 : statuses.length > 300 ? 9 : 14;
  const columns = Math.max(1, Math.floor(width / cell));
  const height = Math.ceil(statuses.length / columns) * cell;
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const style = getComputedStyle(canvas);
  const colors = RECIPIENT_STATUSES.map((status) => style.getPropertyValue(`--of-${status}`));
  const context = canvas.getContext('2d')!;
  context.scale(scale, scale);
  const isMirrored = style.direction === 'rtl';
  for (let index = 0; index < statuses.length; index++) {
    const column = index % columns;
    context.fillStyle = colors[Number(statuses[index])] ?? '';
    const x = (isMirrored ? columns - 1 - column : column) * cell;
    context.fillRect(x, Math.floor(index / columns) * cell, cell - GAP_PX, cell - GAP_PX);
  }
}
