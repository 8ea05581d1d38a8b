// Compares the rows of the page with the log of both ends.
import assert from "node:assert/strict";

/**
 * Returns whether a message crosses the target of `connect` instead of the port of the session. Such a message belongs
 * to the handshake, or is the copy of the goodbye to a window. The far end misses the message if it does not listen
 * yet.
 */
const isOnTarget = (text) => /"rpc\.hello"|"\$type":"MessagePort"|"rpc\.bye","params":\{"key"/.test(text);

/** Returns the shown rows, with their texts. */
export async function shownRows(page) {
  return JSON.parse(
    await page.run(
      `const { core } = model();
       return JSON.stringify([...core.shown()].map((seq) => ({ ...core.row(seq), text: model().textOf(seq) ?? null })));`,
    ),
  );
}

/** Returns the kind, the id and the method of a message. This code does not use that of the inspector. */
function factsOf(text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "invalid" };
  }
  if (Array.isArray(value)) return { kind: "batch", items: value };
  const id = value?.id === undefined ? null : JSON.stringify(value.id);
  if (typeof value?.method === "string")
    return { kind: id === null ? "notification" : "request", id, method: value.method };
  if (value?.error !== undefined) return { kind: "error", id, code: value.error.code };
  if (value?.result !== undefined) return { kind: "result", id };
  return { kind: "invalid" };
}

const isMessage = ({ kind }) => !["open", "close"].includes(kind);

/** Checks that the rows are the messages that both ends have logged, in their order, with their kinds and methods. */
export function assertShown(rows, { near, far }, count) {
  const messages = rows.filter(isMessage);
  assert.deepEqual(
    messages.filter(({ kind }) => kind === "gap"),
    [],
  );
  const of = (direction) => messages.filter((row) => row.direction === direction).map(({ text }) => text);
  const ofSession = (texts) => texts.filter((text) => !isOnTarget(text));
  const logs = { sent: [near.sent, far.received], received: [near.received, far.sent] };
  for (const [direction, ends] of Object.entries(logs)) {
    const shown = ofSession(of(direction));
    for (const end of ends) {
      const crossed = ofSession(end);
      const different = shown.findIndex((text, n) => text !== crossed[n]);
      assert.ok(different < 0, `${direction}, message ${different}: ${shown[different]}, not ${crossed[different]}`);
      assert.equal(shown.length, crossed.length, `the number of messages that were ${direction}`);
    }
  }
  assert.ok(messages.length >= count, `${messages.length} messages`);
  const pending = new Map();
  const key = (direction, id) => `${direction} ${id}`;
  const opposite = { sent: "received", received: "sent" };
  for (const row of messages) {
    const { kind, id = null, method, items, code } = factsOf(row.text);
    const what = `row ${row.seq}: ${row.text}`;
    assert.equal(row.kind, kind, what);
    if (kind === "batch") {
      assert.equal(row.items, items.length, what);
      for (const call of items)
        if (call.id !== undefined && call.method !== undefined)
          pending.set(key(row.direction, JSON.stringify(call.id)), call.method);
      continue;
    }
    assert.equal(row.id, id, what);
    if (method !== undefined) assert.equal(row.method, method, what);
    if (kind === "request") pending.set(key(row.direction, id), method);
    if (kind !== "result" && kind !== "error") continue;
    const call = key(opposite[row.direction], id);
    assert.equal(row.unmatched, !pending.has(call), what);
    if (pending.has(call)) assert.equal(row.method, pending.get(call), what);
    pending.delete(call);
    if (code !== undefined) assert.equal(row.code, code, what);
  }
}
