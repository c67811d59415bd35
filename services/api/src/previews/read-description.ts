import type { Description } from './preview-job.js';
import { MAX_SECONDS } from './read-movie.js';

/** No phone or format supports larger images. */
const MAX_SIDE_PIXELS = 65_535;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The plausible part of a process's answer: it may be controlled by a stranger's file. */
export function readDescription(line: string): Description {
  const said = parse(line);
  const { animated, thumbnail } = said;
  return {
    ...number('width', said, MAX_SIDE_PIXELS),
    ...number('height', said, MAX_SIDE_PIXELS),
    ...number('seconds', said, MAX_SECONDS),
    ...(animated === true && { animated }),
    ...(typeof thumbnail === 'string' && BASE64.test(thumbnail) && { thumbnail }),
  };
}

function number(name: 'width' | 'height' | 'seconds', said: Record<string, unknown>, max: number): Description {
  const value = said[name];
  return typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= max ? { [name]: value } : {};
}

function parse(line: string): Record<string, unknown> {
  try {
    const said: unknown = JSON.parse(line);
    return typeof said === 'object' && said !== null ? (said as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
