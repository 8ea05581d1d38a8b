// Tests the types of `portway/wipc` and `portway/wipc/node`: the codec, channels, and guests in processes.

import { JSONRPCPeer, type BuiltInTransport } from "portway";
import {
  encodeWipc,
  parseWipcJSON,
  WipcChannel,
  WipcClosedError,
  WipcDecoder,
  WipcDecoderStream,
  WipcEncoderStream,
  WipcType,
  type WipcEnd,
  type WipcFrame,
} from "portway/wipc";
import { guestChannel, spawnGuest, type WipcGuest } from "portway/wipc/node";
import { same, type Equal } from "./equal.js";

interface Api {
  add: { params: [number, number]; result: number };
}

export function codec(bytes: Uint8Array): Uint8Array {
  const decoder = new WipcDecoder({ frame: (type, payload) => [type, payload] }, { maxPayload: 1 });
  new WipcDecoder({ frame() {}, passthrough: (bytes) => bytes.length, truncated: (size) => size.toFixed() });
  decoder.push(bytes);
  decoder.push(bytes.buffer as ArrayBuffer);
  decoder.finish();
  same<Equal<ReturnType<typeof decoder.giveUp>, boolean>>(true);
  const received: number | undefined = decoder.partial?.received;
  void received;
  // @ts-expect-error a decoder needs a hook
  new WipcDecoder({});
  // @ts-expect-error a chunk must be bytes
  decoder.push("WIPC");
  const id: unknown = parseWipcJSON(bytes).id;
  void id;
  encodeWipc(WipcType.OPEN);
  encodeWipc(WipcType.CALL, "text");
  encodeWipc(3, new DataView(new ArrayBuffer(1)));
  // @ts-expect-error unknown type of frame
  encodeWipc(4);
  // @ts-expect-error an object is not a payload
  encodeWipc(WipcType.CALL, { id: 1 });
  // @ts-expect-error the types are read-only
  WipcType.OPEN = 1;
  return encodeWipc(WipcType.DATA, bytes);
}

export async function streams(
  readable: ReadableStream<Uint8Array>,
  writable: WritableStream<Uint8Array>,
): Promise<void> {
  const frames = readable.pipeThrough(new WipcDecoderStream({ passthrough: (bytes) => void bytes.length }));
  const { value } = await frames.getReader().read();
  same<Equal<typeof value, WipcFrame | undefined>>(true);
  const encoder = new WipcEncoderStream();
  void encoder.readable.pipeTo(writable);
  const writer = encoder.writable.getWriter();
  await writer.write({ type: WipcType.OPEN });
  await writer.write({ type: WipcType.DATA, payload: "text" });
  // @ts-expect-error the type of the frame is missing
  await writer.write({ payload: "text" });
}

export async function channel(
  readable: ReadableStream<Uint8Array>,
  writable: WritableStream<Uint8Array>,
): Promise<void> {
  const channel = new WipcChannel(
    { readable, writable },
    { role: "guest", maxMessage: 1_000, onData: (payload) => payload.length, onClose: async () => {} },
  );
  const peer = new JSONRPCPeer<Api, Api>(channel.transport());
  peer.method("add", ([a, b]) => a + b);
  const sum: number = await peer.remote.add([1, 2]);
  await channel.send(WipcType.DATA, String(sum));
  await channel.sendJSON(WipcType.CALL, { id: 1 });
  same<Equal<Awaited<ReturnType<typeof channel.close>>, WipcEnd>>(true);
  await channel.close("bye", { timeout: 5 });
  await channel.idle();
  const { closed } = await channel.ended;
  same<Equal<typeof closed, boolean>>(true);
  // @ts-expect-error unknown role
  new WipcChannel({ readable, writable }, { role: "server" });
  // @ts-expect-error both streams are needed
  new WipcChannel({ readable });
}

export function failure(error: unknown): string | undefined {
  // @ts-expect-error only the library creates this error
  new WipcClosedError();
  return error instanceof WipcClosedError ? error.reason : undefined;
}

export async function host(): Promise<number | null> {
  const guest: WipcGuest = await spawnGuest("node", ["guest.mjs"], {
    cwd: ".",
    env: { A: "b" },
    onPassthrough: () => {},
  });
  const peer = new JSONRPCPeer<Api>(guest.transport());
  await peer.request("add", [1, 2]);
  guest.kill("SIGTERM");
  const { code } = await guest.close({ payload: "bye", timeout: 100 });
  // @ts-expect-error the role cannot be set, because `spawnGuest` always returns the host
  await spawnGuest("node", [], { role: "guest" });
  return code;
}

export function guest(): BuiltInTransport {
  return guestChannel({ exitTimeout: 10, onClose: () => {} }).transport();
}
