// The messages that a WebSocket sends together, and their texts.
import { isCall } from "../driver/json-text.js";
import { exactText } from "./exact-json.js";

/**
 * Returns three values for a message or a batch: the ids of its messages, the whole text, and the text of each message.
 * The id of a notification is undefined. The id of a response is replaced by null, because it may equal the id of a
 * call.
 * @returns {[any[], string, string[]]}
 */
export function outgoing(message) {
  const messages = [message].flat();
  const texts = messages.map(exactText);
  const text = Array.isArray(message) ? `[${texts}]` : texts[0];
  return [messages.map((part) => (isCall(part) ? part.id : null)), text, texts];
}

/**
 * Reduces a result of `outgoing` to the messages with wanted ids. Returns an array with the reduced result. The array
 * is empty if no message has a wanted id.
 */
export function keepWanted([ids, text, texts], isWanted) {
  const rest = texts.filter((_, index) => isWanted(ids[index]));
  return rest.length ? [[ids.filter(isWanted), text[0] === "[" ? `[${rest}]` : text, rest]] : [];
}
