// Finds the responses to requests among the messages of an HTTP response.

import { isCall } from "../driver/json-text.js";
import { readMessages } from "../websocket/exact-json.js";
import { HttpFailure } from "./http-client.js";

/**
 * Parses JSON text. If responses repeat a member, calls `report` with an error and the ids of these responses. Throws
 * an `HttpFailure` if the text is not JSON.
 */
export function parse(text, report) {
  const unreadable = [];
  let messages;
  try {
    messages = readMessages(text, unreadable);
  } catch (error) {
    throw new HttpFailure("the body must be JSON", {}, error);
  }
  if (unreadable.length > 0) report(new Error("a response repeats a member"), unreadable);
  return messages === undefined ? [] : [messages].flat();
}

/**
 * Returns the responses to the requests with these ids. An error with the id null, or without an id, is the response to
 * all of these requests, because the HTTP response belongs to them.
 */
export function responsesTo(ids, messages) {
  const responses = messages.filter((message) => !isCall(message));
  const refusal = responses.find(({ id, error }) => (id === null || id === undefined) && error !== undefined);
  return ids.flatMap((id) => {
    const response = responses.find((response) => response.id === id);
    return response ?? (refusal ? { ...refusal, id } : []);
  });
}

/** Returns the failure for a response that lacks the response to a request. */
export function missingResponse(id, messages) {
  const other = messages.find((message) => !isCall(message));
  const got = other === undefined ? "" : `, got the id ${JSON.stringify(other.id)}`;
  return new HttpFailure(`the body must be the response with the id ${id}${got}`);
}
