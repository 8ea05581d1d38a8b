// Guests of WIPC, and frames as the specification defines them. This file encodes and decodes frames without the
// library, so that the tests do not compare the library with itself.

import { assert } from "chai";
import { inNode } from "./portway.js";

export const OPEN = 0;
export const CLOSE = 1;
export const CALL = 2;
export const DATA = 3;

const HEADER_LENGTH = 9;
const root = new URL("../../..", import.meta.url);

/** Returns the names and URLs of the guests that respond to calls. */
export async function guests() {
  const files = inNode
    ? (await import("../runner/guests.mjs")).prepareGuests()
    : JSON.parse(new URLSearchParams(location.search).get("guests"));
  return Object.entries(files).map(([name, file]) => ({ name, url: new URL(file, root) }));
}

/** The URL of a guest whose first argument selects an unusual behaviour. */
export const odd = new URL("target/guests/odd.wasm", root);

/** Returns the bytes of a frame: the magic, the type, the length and the payload. */
export function frame(type, payload = new Uint8Array()) {
  const bytes = typeof payload === "string" ? new TextEncoder().encode(payload) : payload;
  const whole = new Uint8Array(HEADER_LENGTH + bytes.length);
  whole.set([0x57, 0x49, 0x50, 0x43, type]);
  new DataView(whole.buffer).setUint32(5, bytes.length, true);
  whole.set(bytes, HEADER_LENGTH);
  return whole;
}

export function concat(pieces) {
  const whole = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

/** Reads a stream to its end, and returns all bytes. */
export async function readAll(readable) {
  const reader = readable.getReader();
  const pieces = [];
  for (let next = await reader.read(); !next.done; next = await reader.read()) pieces.push(next.value);
  return concat(pieces);
}

/** The host of one guest. It reads and writes the streams of the guest. */
export class Host {
  #reader;
  #writer;
  /** The bytes that were read and do not belong to a returned frame. */
  #unparsed = new Uint8Array();
  /** The bytes outside of frames, decoded as Latin-1. */
  text = "";

  constructor({ readable, writable }) {
    this.#reader = readable.getReader();
    this.#writer = writable.getWriter();
  }

  write(bytes) {
    return this.#writer.write(bytes);
  }

  send(type, payload) {
    return this.write(frame(type, payload));
  }

  endInput() {
    return this.#writer.close();
  }

  /** Returns the next frame, or undefined at the end of the output. */
  async next() {
    for (;;) {
      const found = this.#parse();
      if (found) return found;
      const { done, value } = await this.#reader.read();
      if (done) return void (this.text += latin1(this.#unparsed));
      this.#unparsed = concat([this.#unparsed, value]);
    }
  }

  #parse() {
    const at = magicIn(this.#unparsed);
    if (at > 0) this.text += latin1(this.#unparsed.subarray(0, at));
    this.#unparsed = this.#unparsed.subarray(at);
    if (this.#unparsed.length < HEADER_LENGTH) return;
    const length = new DataView(this.#unparsed.buffer, this.#unparsed.byteOffset).getUint32(5, true);
    if (this.#unparsed.length < HEADER_LENGTH + length) return;
    const payload = this.#unparsed.slice(HEADER_LENGTH, HEADER_LENGTH + length);
    const type = this.#unparsed[4];
    this.#unparsed = this.#unparsed.subarray(HEADER_LENGTH + length);
    return { type, payload };
  }

  /** Returns the payload of the next frame, which must have this type. */
  async nextOf(type) {
    const found = await this.next();
    assert.equal(found?.type, type);
    return found.payload;
  }

  async call(id, method, params) {
    // The guest may respond before it has read the whole call, so the host must read while it writes.
    const sent = this.send(CALL, JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    const answer = await this.answer();
    await sent;
    return answer;
  }

  /** Returns the message in the next frame, which must be a CALL frame. */
  async answer() {
    return JSON.parse(new TextDecoder().decode(await this.nextOf(CALL)));
  }
}

/**
 * Returns the index of the magic. If the bytes end with only the first part of the magic, returns the index of this
 * part. Otherwise, returns the number of bytes.
 */
function magicIn(bytes) {
  const magic = [0x57, 0x49, 0x50, 0x43];
  for (let at = 0; at < bytes.length; at++) {
    if (magic.every((byte, index) => at + index >= bytes.length || bytes[at + index] === byte)) return at;
  }
  return bytes.length;
}

function latin1(bytes) {
  return new TextDecoder("latin1").decode(bytes);
}
