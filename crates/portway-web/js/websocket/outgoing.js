// The messages that a WebSocket sends together, and their texts.
import { isCall } from "../driver/json-text.js";
import { exactText } from "./exact-json.js";

/**
 * Returns the ids of the messages of a batch or of one message, the whole text, and the text of each message. The id of
 * a notification is undefined. That of an answer is null, as it may equal that of a call.
 */
export function outgoing(message) {
  const isBatch = Array.isArray(message);
  const messages = isBatch ? message : [message];
  const texts = messages.map(exactText);
  return [messages.map((part) => (isCall(part) ? part.id : null)), isBatch ? `[${texts}]` : texts[0], texts];
}

/** Removes the messages whose ids are not wanted. Returns an array with the rest, or an empty array. */
export function keepWanted(entry, isWanted) {
  const [ids, , texts] = entry;
  const wanted = ids.filter(isWanted);
  if (wanted.length === ids.length) return [entry];
  const rest = texts.filter((_, index) => isWanted(ids[index]));
  return wanted.length ? [[wanted, `[${rest}]`, rest]] : [];
}
