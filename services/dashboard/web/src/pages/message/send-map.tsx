import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import { useComputedColorScheme } from '@mantine/core';
import { type KeyboardEvent, type MouseEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './send.module.css';

const GAP_PX = 1;

interface SendMapProps {
  statuses: string;
  /** Of a recipient, by their place in the send. */
  onChoose: (place: number) => void;
}

/** A cell for each recipient, in the colour of the status. A click leads to their row; so do the arrow keys and Enter. */
export function SendMap({ statuses, onChoose }: SendMapProps) {
  const { t } = useTranslation();
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<number>();
  const scheme = useComputedColorScheme();
  const grid = layOut(statuses.length, width);
  useEffect(() => {
    const frame = canvas.current?.parentElement;
    if (!frame) return;
    const observer = new ResizeObserver(() => setWidth(frame.clientWidth));
    observer.observe(frame);
    return () => observer.disconnect();
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with another scheme the same variables are other colours.
  useEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, { statuses, width, at });
  }, [statuses, width, at, scheme]);
  const choose = ({ nativeEvent: { offsetX, offsetY }, currentTarget }: MouseEvent) => {
    const isMirrored = getComputedStyle(currentTarget).direction === 'rtl';
    const column = Math.floor((isMirrored ? width - offsetX : offsetX) / grid.cell);
    const place = Math.floor(offsetY / grid.cell) * grid.columns + column;
    if (column < 0 || column >= grid.columns || place >= statuses.length) return;
    setAt(place);
    onChoose(place);
  };
  const move = (event: KeyboardEvent) => {
    const forwards = getComputedStyle(event.currentTarget).direction === 'rtl' ? -1 : 1;
    const steps: Record<string, number> = {
      ...{ ArrowRight: forwards, ArrowLeft: -forwards, ArrowDown: grid.columns, ArrowUp: -grid.columns },
      ...{ Home: -statuses.length, End: statuses.length },
    };
    const step = steps[event.key];
    if (event.key === 'Enter') onChoose(at ?? 0);
    else if (step !== undefined) moveTo(Math.min(statuses.length - 1, Math.max(0, (at ?? 0) + step)));
    else return;
    event.preventDefault();
  };
  const moveTo = (place: number) => {
    setAt(place);
    const frame = canvas.current!.parentElement!;
    const top = Math.floor(place / grid.columns) * grid.cell;
    frame.scrollTop = Math.min(top, Math.max(frame.scrollTop, top + grid.cell - frame.clientHeight));
  };
  const status = RECIPIENT_STATUSES[Number(statuses[at ?? 0])] ?? 'queued';
  return (
    <div className={classes.map}>
      <canvas
        ref={canvas}
        role="slider"
        tabIndex={0}
        aria-label={t('send.map')}
        aria-valuemin={1}
        aria-valuemax={statuses.length}
        aria-valuenow={(at ?? 0) + 1}
        aria-valuetext={`${(at ?? 0) + 1}: ${t(`messages.status.${status}`)}`}
        onClick={choose}
        onKeyDown={move}
      />
    </div>
  );
}

/** Pixels of a cell, and how many are side by side. */
function layOut(count: number, width: number): { cell: number; columns: number } {
  const cell = count > 2_000 ? 6 : count > 300 ? 9 : 14;
  return { cell, columns: Math.max(1, Math.floor(width / cell)) };
}

interface Drawing {
  statuses: string;
  width: number;
  /** The cell with a frame. */
  at: number | undefined;
}

function draw(canvas: HTMLCanvasElement, { statuses, width, at }: Drawing): void {
  const { cell, columns } = layOut(statuses.length, width);
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
  // Where one reads from the right, the first cell is at the right edge.
  const leftOf = (column: number) => (style.direction === 'rtl' ? width - (column + 1) * cell : column * cell);
  for (let index = 0; index < statuses.length; index++) {
    context.fillStyle = colors[Number(statuses[index])] ?? '';
    const top = Math.floor(index / columns) * cell;
    context.fillRect(leftOf(index % columns), top, cell - GAP_PX, cell - GAP_PX);
  }
  if (at === undefined) return;
  context.strokeStyle = style.color;
  context.lineWidth = 2;
  context.strokeRect(leftOf(at % columns), Math.floor(at / columns) * cell, cell - GAP_PX, cell - GAP_PX);
}
