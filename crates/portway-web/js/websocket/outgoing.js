// The messages that a WebSocket sends together, and their texts.
import { isCall } from "../driver/json-text.js";
import { exactText } from "./exact-json.js";

/**
 * Returns the ids of the messages of a batch or of one message, the whole text, and the text of each message. The id of
 * a notification is undefined. That of an answer is null, as it may equal that of a call.
 * @returns {[any[], string, string[]]}
 */
export function outgoing(message) {
  const messages = [message].flat();
  const texts = messages.map(exactText);
  const text = Array.isArray(message) ? `[${texts}]` : texts[0];
  return [messages.map((part) => (isCall(part) ? part.id : null)), text, texts];
}

/** Removes the messages whose ids are not wanted. Returns an array with the rest, or an empty array. */
export function keepWanted([ids, text, texts], isWanted) {
  const rest = texts.filter((_, index) => isWanted(ids[index]));
  return rest.length ? [[ids.filter(isWanted), text[0] === "[" ? `[${rest}]` : text, rest]] : [];
}
