// Tests the types of calls by JSONRPCClient, with and without a method map.

import { CallError, JSONRPCClient, RPCError, type MethodMap, type RPCTransport } from "portway";
import { same, type Equal } from "./equal.js";

interface Point {
  x: number;
  y: number;
}

interface Api {
  locate: { params: { name: string; exact?: boolean }; result: Point };
  add: { params: [a: number, b: number]; result: number };
  list: { params?: { prefix: string }; result: string[] };
  ping: { result: null };
  drop: { params: Point; result: undefined };
  compile: { params: { entry: string }; result: string; progress: { fraction: number } };
  moved: { params: Point };
  idle: {};
}

declare const transport: RPCTransport;
const client = new JSONRPCClient<Api>(transport, { timeout: 500 });

export async function paramsAndResultFollowTheMap(): Promise<void> {
  const point = await client.request("locate", { name: "home" });
  same<Equal<typeof point, Point>>(true);
  const sum = await client.request("add", [1, 2]);
  same<Equal<typeof sum, number>>(true);
  const names = await client.request("list");
  same<Equal<typeof names, string[]>>(true);
  await client.request("list", { prefix: "a" });
  await client.request("list", undefined, { timeout: 0 });
}

export async function wrongCallsAreRefused(): Promise<void> {
  // @ts-expect-error unknown method
  await client.request("lokate", { name: "home" });
  // @ts-expect-error wrong type of a parameter
  await client.request("locate", { name: 1 });
  // @ts-expect-error missing parameter
  await client.request("locate", {});
  // @ts-expect-error parameter that the method does not have
  await client.request("locate", { name: "home", nmae: "home" });
  // @ts-expect-error missing parameters
  await client.request("locate");
  // @ts-expect-error too few positional parameters
  await client.request("add", [1]);
  // @ts-expect-error the params must be positional
  await client.request("add", { a: 1, b: 2 });
  // @ts-expect-error parameters for a method without parameters
  await client.request("ping", { now: true });
  // @ts-expect-error a notification has no response
  await client.request("moved", { x: 1, y: 2 });
  // @ts-expect-error params must be an object or an array
  await client.request("locate", "home");
}

export async function methodWithoutParamsIsCalledWithoutParams(): Promise<void> {
  const nothing = await client.request("ping");
  same<Equal<typeof nothing, null>>(true);
  await client.request("ping", undefined, { timeout: 100 });
}

export async function undefinedResultArrivesAsNull(): Promise<void> {
  const nothing = await client.request("drop", { x: 1, y: 2 });
  same<Equal<typeof nothing, null>>(true);
}

export async function readonlyTupleMayBeSent(): Promise<void> {
  const pair = [1, 2] as const;
  await client.request("add", pair);
}

export function notifyTakesNotificationsAndRequests(): void {
  client.notify("moved", { x: 1, y: 2 });
  client.notify("idle");
  client.notify("ping");
  client.notify("locate", { name: "home" });
  const sent = client.notify("idle", undefined, { transfer: [new ArrayBuffer(8)] });
  same<Equal<typeof sent, void>>(true);
  // @ts-expect-error unknown notification
  client.notify("mooved", { x: 1, y: 2 });
  // @ts-expect-error missing parameters
  client.notify("moved");
  // @ts-expect-error wrong parameters
  client.notify("moved", { x: 1 });
}

export async function optionsOfACall(signal: AbortSignal): Promise<void> {
  const text = await client.request(
    "compile",
    { entry: "a.ts" },
    {
      timeout: Infinity,
      signal,
      transfer: [new ArrayBuffer(1)],
      onProgress: (value) => same<Equal<typeof value, { fraction: number }>>(true),
    },
  );
  same<Equal<typeof text, string>>(true);
  await client.request("ping", undefined, { onProgress: (value) => value.anything });
  await client.request("ping", undefined, { timeout: undefined, signal: undefined });
  // @ts-expect-error misspelt option
  await client.request("ping", undefined, { timeOut: 1 });
  // @ts-expect-error a timeout must be a number
  await client.request("ping", undefined, { timeout: "1s" });
}

export async function batchOfConstIsATuple(): Promise<void> {
  const settled = await client.batch([
    { method: "locate", params: { name: "home" } },
    { method: "add", params: [1, 2] },
    { method: "ping" },
    { method: "ping", notify: true },
    { method: "moved", params: { x: 1, y: 2 }, notify: true },
  ] as const);
  same<
    Equal<
      typeof settled,
      [
        PromiseSettledResult<Point>,
        PromiseSettledResult<number>,
        PromiseSettledResult<null>,
        PromiseSettledResult<undefined>,
        PromiseSettledResult<undefined>,
      ]
    >
  >(true);
  if (settled[0].status === "fulfilled") settled[0].value.x.toFixed();
}

export async function batchOfALiteralWithoutConstIsAlsoATuple(): Promise<void> {
  const [first, second] = await client.batch(
    [
      { method: "list", params: { prefix: "a" } },
      { method: "add", params: [1, 2] },
    ],
    { timeout: 100 },
  );
  same<Equal<typeof first, PromiseSettledResult<string[]>>>(true);
  same<Equal<typeof second, PromiseSettledResult<number>>>(true);
}

export async function batchOfAVariableLengthIsAnArray(names: string[]): Promise<void> {
  const settled = await client.batch(names.map((name) => ({ method: "locate" as const, params: { name } })));
  same<Equal<typeof settled, PromiseSettledResult<Point>[]>>(true);
}

interface Lists {
  join: { params: { parts: string[] }; result: string };
  count: { params: { parts: string[] }; result: number };
}

export async function batchWhoseParamsContainArraysIsATuple(lists: JSONRPCClient<Lists>): Promise<void> {
  const settled = await lists.batch([
    { method: "join", params: { parts: ["a", "b"] } },
    { method: "count", params: { parts: [] } },
    { method: "count", params: { parts: ["c"] }, notify: true },
  ]);
  same<
    Equal<typeof settled, [PromiseSettledResult<string>, PromiseSettledResult<number>, PromiseSettledResult<undefined>]>
  >(true);
}

export async function wrongBatchesAreRefused(): Promise<void> {
  // @ts-expect-error unknown method
  await client.batch([{ method: "lokate", params: { name: "home" } }]);
  // @ts-expect-error wrong parameters
  await client.batch([{ method: "locate", params: { name: 1 } }]);
  // @ts-expect-error missing parameters
  await client.batch([{ method: "locate" }]);
  // @ts-expect-error a notification needs `notify: true`
  await client.batch([{ method: "moved", params: { x: 1, y: 2 } }]);
}

export async function withoutAMapAnyCallCompiles(): Promise<void> {
  const open = new JSONRPCClient(transport);
  const unknown = await open.request("anything");
  same<Equal<typeof unknown, unknown>>(true);
  const named = await open.request<Point>("locate", { name: "home" });
  same<Equal<typeof named, Point>>(true);
  const fromContext: Point = await open.request("locate", ["home"], { timeout: 1 });
  const params: Point = fromContext;
  await open.request("interface as params", params);
  open.notify("anything");
  open.notify("anything", [1, "two"]);
  const settled = await open.batch([{ method: "a" }, { method: "b", params: [1], notify: true }]);
  settled[0].status satisfies "fulfilled" | "rejected";
  const dynamic: { method: string; params?: object }[] = [];
  const outcomes = await open.batch(dynamic);
  same<Equal<typeof outcomes, PromiseSettledResult<unknown>[]>>(true);
  // @ts-expect-error params must be an object or an array
  await open.request("scalar", 5);
}

export async function failuresHaveTypes(): Promise<void> {
  try {
    await client.request("ping");
  } catch (error) {
    if (error instanceof RPCError) {
      same<Equal<typeof error.code, number>>(true);
      same<Equal<typeof error.data, unknown>>(true);
      // @ts-expect-error the code cannot be changed
      error.code = 1;
    } else if (error instanceof CallError) {
      if (error.reason === "timeout") error.message.startsWith("JSON-RPC timeout: ");
      same<Equal<typeof error.id, number | undefined>>(true);
      // @ts-expect-error unknown reason
      if (error.reason === "boredom") return;
    }
  }
  // @ts-expect-error only the library creates this error
  throw new CallError("timeout");
}

export function lifetime(): void {
  client.pending.toFixed();
  // @ts-expect-error the count of pending calls is read-only
  client.pending = 0;
  client.destroy();
}

export function optionsOfAClient(): void {
  new JSONRPCClient(transport, {});
  new JSONRPCClient(transport, { timeout: undefined, onError: undefined, limits: undefined });
  new JSONRPCClient(transport, { onError: (error) => error.message.trim(), limits: { pendingCalls: 10 } });
  new JSONRPCClient(transport, { coalesce: true });
  new JSONRPCClient(transport, { coalesce: "columns" });
  new JSONRPCClient(transport, { dialect: "mcp" });
  new JSONRPCClient(transport, { dialect: undefined });
  // @ts-expect-error unknown dialect
  new JSONRPCClient(transport, { dialect: "lsp" });
  // @ts-expect-error unknown option
  new JSONRPCClient(transport, { retries: 3 });
  // @ts-expect-error the transport is missing
  new JSONRPCClient();
}

export function mapsAreChecked(): void {
  // @ts-expect-error params must be an object or an array
  new JSONRPCClient<{ a: { params: string; result: null } }>(transport);
  // @ts-expect-error misspelt member of an entry
  new JSONRPCClient<{ a: { parms: object } }>(transport);
  // @ts-expect-error an entry must be an object
  new JSONRPCClient<{ a: number }>(transport);
}

/** A wrapper that is generic over the map. */
export class Wrapper<M extends MethodMap<M>> {
  readonly client: JSONRPCClient<M>;
  constructor(t: RPCTransport) {
    this.client = new JSONRPCClient<M>(t);
  }
}
export const wrapped = await new Wrapper<Api>(transport).client.request("add", [1, 2]);
same<Equal<typeof wrapped, number>>(true);

/** A subclass with an additional method. */
export class Locator extends JSONRPCClient<Api> {
  home(): Promise<Point> {
    return this.request("locate", { name: "home" });
  }
  override destroy(): void {
    super.destroy();
  }
}
