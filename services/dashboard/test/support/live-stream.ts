import { request } from 'node:http';
import { eventually } from '@gateway/testkit/eventually';
import type { Browser } from './test-dashboard.js';

export interface LiveStream {
  status: number;
  events: { event: string; data: unknown }[];
  /** The data of the newest event of a topic, once `holds` says so. */
  wait<Data>(event: string, holds: (data: Data) => boolean): Promise<Data>;
  /** Characters that came so far. */
  bytes(): number;
  hasEnded(): boolean;
  close(): void;
}

/** Follows topics as a tab does. */
export function openStream(browser: Browser, topics: string): Promise<LiveStream> {
  const events: LiveStream['events'] = [];
  let ended = false;
  const note = (event: string, data: unknown) => {
    const topic = /^(.*)\.changes$/.exec(event)?.[1];
    if (topic === undefined) return void events.push({ event, data });
    const known = events.findLast((each) => each.event === topic)?.data as { id: string }[];
    const { changed, removed } = data as { changed: { id: string }[]; removed: string[] };
    const gone = new Set([...removed, ...changed.map(({ id }) => id)]);
    events.push({ event: topic, data: [...known.filter(({ id }) => !gone.has(id)), ...changed] });
  };
  const headers = { ...(browser.cookie && { cookie: browser.cookie }) };
  const path = `/console/api/live?topics=${topics}`;
  return new Promise((resolve, reject) => {
    const sent = request({ port: browser.port, host: '127.0.0.1', path, headers }, (response) => {
      response.on('error', () => {});
      response.on('close', () => {
        ended = true;
      });
      let rest = '';
      let length = 0;
      response.setEncoding('utf8').on('data', (piece: string) => {
        length += piece.length;
        const frames = (rest + piece).split('\n\n');
        rest = frames.pop()!;
        for (const frame of frames) {
          const [, event, data] = /^event: (.*)\ndata: (.*)$/.exec(frame) ?? [];
          if (event && data) note(event, JSON.parse(data));
        }
      });
      resolve({
        status: response.statusCode ?? 0,
        events,
        wait: <Data>(name: string, holds: (data: Data) => boolean) =>
          eventually(
            () => {
              const newest = events.findLast((each) => each.event === name)?.data as Data | undefined;
              return newest !== undefined && holds(newest) ? { newest } : false;
            },
            { what: `${name} in ${JSON.stringify(events)}` },
          ).then(({ newest }) => newest as Data),
        bytes: () => length,
        hasEnded: () => ended,
        close: () => sent.destroy(),
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}
