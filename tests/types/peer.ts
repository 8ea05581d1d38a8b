// Tests the types of JSONRPCPeer: both roles on one transport, and calls by the methods of `remote`.

import { JSONRPCClient, JSONRPCPeer, JSONRPCServer, type RemoteProxy, type RPCTransport } from "portway";
import { same, type Equal } from "./equal.js";

interface WorkerApi {
  build: { params: { entry: string }; result: { output: string }; progress: number };
  stop: { result: null };
  "text/hover": { params: [line: number]; result: string };
  then: { params: { a: number }; result: null };
  hasAttribute: { params: [name: string]; result: boolean };
  "@@iterator": { result: null };
  __v_raw: { result: null };
  log: { params: { text: string } };
}
interface PageApi {
  confirm: { params: { question: string }; result: boolean };
  warning: { params: { text: string } };
}

declare const transport: RPCTransport;
const peer = new JSONRPCPeer<WorkerApi, PageApi>(transport, { timeout: 1000, paramsNull: "absent" });

export async function callsGoToTheRemoteMap(): Promise<void> {
  const built = await peer.request("build", { entry: "a.ts" }, { onProgress: (done) => done.toFixed() });
  same<Equal<typeof built, { output: string }>>(true);
  peer.notify("log", { text: "hello" });
  peer.pending.toFixed();
  // @ts-expect-error this peer serves the method and cannot call it
  await peer.request("confirm", { question: "?" });
}

export function handlersComeFromTheLocalMap(): void {
  peer
    .method("confirm", ({ question }, context) => {
      context.notify("log", { text: question });
      return true;
    })
    .onNotify("warning", ({ text }) => text.trim())
    .destroy();
  // @ts-expect-error the remote peer serves the method
  peer.method("build", () => ({ output: "" }));
}

export async function remoteCallsAsMethods(): Promise<void> {
  const built = await peer.remote.build({ entry: "a.ts" });
  same<Equal<typeof built, { output: string }>>(true);
  const stopped = await peer.remote.stop();
  same<Equal<typeof stopped, null>>(true);
  const text = await peer.remote["text/hover"]([1], { timeout: 5 });
  same<Equal<typeof text, string>>(true);
  const { build } = peer.remote;
  await build({ entry: "b.ts" });
  // @ts-expect-error unknown method
  await peer.remote.bild({ entry: "a.ts" });
  // @ts-expect-error missing parameter
  await peer.remote.build({});
  // @ts-expect-error missing parameters
  await peer.remote.build();
  // @ts-expect-error a notification has no response
  await peer.remote.log({ text: "hello" });
  // @ts-expect-error remote methods are read-only
  peer.remote.stop = async () => null;
}

export async function remoteIsNotAPromise(): Promise<void> {
  // @ts-expect-error `then` would make `await` call the peer
  peer.remote.then;
  const awaited = await peer.remote;
  same<Equal<typeof awaited, RemoteProxy<WorkerApi>>>(true);
  const open = new JSONRPCPeer(transport);
  same<Equal<typeof open.remote.then, undefined>>(true);
  await open.remote;
}

export async function namesThatFrameworksLookUpNeedRequest(): Promise<void> {
  // @ts-expect-error the printer of Jest calls it
  peer.remote.hasAttribute;
  // @ts-expect-error React calls it
  peer.remote["@@iterator"];
  // @ts-expect-error Vue reads it
  peer.remote.__v_raw;
  const has = await peer.request("hasAttribute", ["hidden"]);
  same<Equal<typeof has, boolean>>(true);
}

export async function withoutMapsAnyCallAndHandlerCompile(): Promise<void> {
  const open = new JSONRPCPeer(transport);
  open.method("a", (params) => params.b).onNotify("c", (params) => params.d);
  const point = await open.remote.locate<{ x: number }>({ name: "home" });
  same<Equal<typeof point, { x: number }>>(true);
  const named = await open.request<number>("add", [1, 2]);
  same<Equal<typeof named, number>>(true);
}

export async function batchOfAPeer(): Promise<void> {
  const [built, stopped] = await peer.batch([{ method: "build", params: { entry: "a" } }, { method: "stop" }]);
  same<Equal<typeof built, PromiseSettledResult<{ output: string }>>>(true);
  same<Equal<typeof stopped, PromiseSettledResult<null>>>(true);
}

/** A peer can be used where only a client or only a server is needed. */
export const asClient: JSONRPCClient<WorkerApi> = peer;
export const asServer: JSONRPCServer<PageApi, WorkerApi> = peer;

/** A peer that serves no methods. */
export const caller = new JSONRPCPeer<WorkerApi, {}>(transport);
// @ts-expect-error this peer serves no methods
caller.method("anything", () => 1);
