import type { ContentKind, MessageContent } from '@gateway/contracts/content/message-content';
import type { Schema } from 'joi';
import type { ApiDeps } from '../api-deps.js';
import type { Call } from '../http/endpoint.js';

/** The content of a request, checked before anything is stored for it. */
export interface GivenContent {
  kind: ContentKind;
  /** Messages that each recipient gets. */
  parts: number;
  /** Fetches and stores its file, if any. Throws errors of the contract. */
  toContent(call: Call<unknown, unknown>, deps: ApiDeps): Promise<MessageContent>;
}

/** How a request gives one kind of content. `Fields` are those of the body that it reads. */
export interface ContentInput<Fields> {
  /** The one that brings it. */
  field: keyof Fields & string;
  schema: Schema;
  /** Of check 5, of a request that has the field: throws 400 with its path. */
  take(fields: Fields): Promise<GivenContent>;
}
