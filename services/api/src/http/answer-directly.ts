import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { toError } from '@gateway/runtime/errors';
import type { ErrorRequestHandler, Express, Request, RequestHandler, Response } from 'express';

/** What a server makes of each request. */
interface Messages {
  IncomingMessage: typeof IncomingMessage;
  ServerResponse: typeof ServerResponse;
}

/** An app with the messages that it wants. */
export type App = RequestListener & { readonly messages?: Messages };

/** What answers a method of a path that has no parameters: `POST /api/messenger/v1/send`. */
type DirectAnswers = ReadonlyMap<string, RequestHandler>;

const NO_PARAMS = Object.freeze({});

/**
 * Express gives each request and response another prototype, after which all that reads them takes longer: 25 us for the headers of one
 * answer. Those of a server that makes these have it from the start.
 */
export function makeMessages(app: Express): Messages {
  class AppRequest extends IncomingMessage {}
  class AppResponse<Req extends IncomingMessage = IncomingMessage> extends ServerResponse<Req> {}
  Object.setPrototypeOf(AppRequest.prototype, app.request);
  Object.setPrototypeOf(AppResponse.prototype, app.response);
  Object.assign(app, { request: AppRequest.prototype, response: AppResponse.prototype });
  return { IncomingMessage: AppRequest, ServerResponse: AppResponse };
}

/**
 * Finds by its name what answers a request whose path has no parameters and no query, and leaves all others to Express, whose search
 * of a route takes 40 us of CPU more.
 */
export function answerDirectly(
  app: Express,
  { messages, answers, answerError }: { messages: Messages; answers: DirectAnswers; answerError: ErrorRequestHandler },
): RequestListener {
  const ignore = () => {};
  return (req, res) => {
    const answer = answers.get(`${req.method} ${req.url}`);
    if (!answer || !isOf(messages, req, res)) return app(req, res);
    const [request, response] = [req as Request, res as unknown as Response];
    request.params = NO_PARAMS;
    void Promise.resolve(answer(request, response, ignore))
      .catch((thrown: unknown) => answerError(thrown, request, response, ignore))
      // An error about an error: there is nothing left to say.
      .catch((thrown: unknown) => void response.destroy(toError(thrown)));
  };
}

/** Not where another server made them, or no server: the request for a tunnel has a response of its own. */
function isOf(messages: Messages, req: IncomingMessage, res: ServerResponse): boolean {
  return req instanceof messages.IncomingMessage && res instanceof messages.ServerResponse;
}
