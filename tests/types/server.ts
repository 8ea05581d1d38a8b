// Tests the types of handlers of JSONRPCServer, with and without a method map.

import {
  ErrorCode,
  JSONRPCClient,
  JSONRPCPeer,
  JSONRPCServer,
  RPCError,
  connect,
  type ConnectTarget,
  type MethodHandler,
  type RPCTransport,
} from "portway";
import { same, type Equal } from "./equal.js";

interface Api {
  locate: { params: { name: string }; result: { x: number; y: number } };
  add: { params: [a: number, b: number]; result: number };
  list: { params?: { prefix: string }; result: string[] };
  ping: { result: null };
  find: { params: { name: string }; result: { at: number } | undefined };
  compile: { params: { entry: string }; result: string; progress: { fraction: number } };
  moved: { params: { x: number } };
  idle: {};
}
interface CallerApi {
  warning: { params: { text: string } };
  refresh: { result: null };
}

declare const transport: RPCTransport;
declare const target: ConnectTarget;
const server = new JSONRPCServer<Api, CallerApi>(transport);

export function handlersInferParamsAndResult(): void {
  server
    .method("locate", (params) => {
      same<Equal<typeof params, { name: string }>>(true);
      return { x: 1, y: 2 };
    })
    .method("locate", async ({ name }) => ({ x: name.length, y: 0 }))
    .method("add", ([a, b]) => {
      same<Equal<typeof a, number>>(true);
      return a + b;
    })
    .method("list", (params) => {
      same<Equal<typeof params, { prefix: string } | undefined>>(true);
      return params ? [params.prefix] : [];
    })
    .onNotify("moved", ({ x }) => x.toFixed())
    .onNotify("moved", async ({ x }) => void x)
    .onNotify("idle", (params) => same<Equal<typeof params, undefined>>(true));
}

export function errorDataSelectsTheDataOfAnError(): void {
  const errorData = (error: unknown) => (error instanceof RangeError ? { limit: 10 } : undefined);
  new JSONRPCServer(transport, { errorData });
  new JSONRPCServer<Api, CallerApi>(transport, { errorData: undefined });
  new JSONRPCPeer(transport, { errorData: (error) => (same<Equal<typeof error, unknown>>(true), null), timeout: 5 });
  void connect(target, { errorData, methods: { ping: () => null } });
  // @ts-expect-error `errorData` must be a function
  new JSONRPCServer(transport, { errorData: { status: 404 } });
  // @ts-expect-error `errorData` must accept any value that a handler throws
  new JSONRPCServer(transport, { errorData: (error: Error) => error.name });
  // @ts-expect-error a client sends no responses
  new JSONRPCClient(transport, { errorData });
}

export function aServerOrAPeerMayHaveADialect(): void {
  new JSONRPCServer(transport, { dialect: "mcp" }).method("ping", () => {});
  new JSONRPCPeer<CallerApi, Api>(transport, { dialect: "mcp", timeout: 5 });
  // @ts-expect-error `connect` has no dialect
  void connect(target, { dialect: "mcp" });
}

export function handlersMayReturnNothing(): void {
  server.method("ping", () => null);
  server.method("ping", () => {});
  server.method("ping", async () => {});
  server.method("ping", (params) => same<Equal<typeof params, undefined>>(true));
  server.method("find", ({ name }) => (name ? { at: 1 } : undefined));
  server.method("find", () => {});
}

export function onNotifyAcceptsARequestOfTheMap(): void {
  server.onNotify("locate", ({ name }) => name.trim());
}

export function wrongHandlersAreRefused(): void {
  // @ts-expect-error unknown method
  server.method("lokate", () => ({ x: 1, y: 2 }));
  // @ts-expect-error wrong result
  server.method("locate", () => ({ x: 1, y: "2" }));
  // @ts-expect-error wrong result of an async handler
  server.method("locate", async () => ({ x: 1 }));
  // @ts-expect-error missing result
  server.method("locate", () => {});
  // @ts-expect-error wrong params
  server.method("locate", (params: { name: number }) => ({ x: params.name, y: 0 }));
  // @ts-expect-error a notification has no result
  server.method("moved", () => null);
  // @ts-expect-error unknown notification
  server.onNotify("mooved", () => {});
  // @ts-expect-error params that the notification does not have
  server.onNotify("moved", ({ y }) => y);
}

export function contextOfAHandler(): void {
  server.method("compile", async ({ entry }, context) => {
    same<Equal<typeof context.method, string>>(true);
    same<Equal<typeof context.id, string | number | null | undefined>>(true);
    same<Equal<typeof context.origin, string | undefined>>(true);
    // @ts-expect-error the id is read-only
    context.id = 1;
    // @ts-expect-error internal state of the request
    context.params;
    context.progress({ fraction: 0.5 });
    context.progress({ fraction: 0.5 }, [new ArrayBuffer(1)]);
    // @ts-expect-error the progress must have the type of the map
    context.progress(50);
    context.transfer([new ArrayBuffer(8)]);
    context.notify("warning", { text: entry });
    context.notify("refresh");
    // @ts-expect-error unknown notification
    context.notify("warned", { text: entry });
    // @ts-expect-error wrong parameters
    context.notify("warning", { text: 1 });
    if (context.signal.aborted) throw new RPCError(ErrorCode.RequestCancelled, "cancelled", { entry });
    return entry;
  });
  server.onNotify("moved", (_, { id, origin, notify }) => notify("warning", { text: `${id} ${origin}` }));
}

export function signalIsAnAbortSignal(): void {
  server.method("compile", async ({ entry }, { signal }) => {
    same<Equal<typeof signal, AbortSignal>>(true);
    const response = await fetch(entry, { signal });
    return response.text();
  });
}

export const locate: MethodHandler<Api, "locate"> = (params) => ({ x: params.name.length, y: 0 });
server.method("locate", locate);

export function withoutAMapAnyHandlerCompiles(): void {
  const open = new JSONRPCServer(transport);
  open.method("anything", (params) => params.whatever.deep);
  open.method("anything", (params: { entry: string }) => params.entry);
  open.method("anything", async () => undefined);
  open.method("anything", (_, context) => context.notify("any", { thing: 1 }));
  open.onNotify("anything", ([first]) => first);
  open.onNotify("anything", (params: Record<string, unknown> | undefined) => void params);
  // @ts-expect-error the name is missing
  open.method(() => 1);
}

export function optionsAndLifetime(): void {
  new JSONRPCServer(transport, { onError: (error) => error.message.trim(), paramsNull: "invalid" });
  new JSONRPCServer(transport, { limits: { inFlight: 4, batchItems: 10 } });
  // @ts-expect-error unknown value
  new JSONRPCServer(transport, { paramsNull: "null" });
  server.destroy();
}
