// Compares the exports of the JavaScript of portway-web with the declarations of the package. Each assertion compiles
// only if the source and the declarations agree. If only one of them has a member, the error names this member:
// `Type '"batch"' does not satisfy the constraint 'never'`.

import type * as declared from "../../../crates/portway-web/types/portway.js";
import type * as declaredEarly from "../../../crates/portway-web/types/early.js";
import type * as declaredInline from "../../../crates/portway-web/types/inline.js";
import type * as declaredWorker from "../../../crates/portway-web/types/wasi-worker.js";
import type * as declaredWasi from "../../../crates/portway-web/types/wipc-wasi.js";
import type * as declaredSocket from "../../../crates/portway-web/types/websocket.js";
import type * as declaredMcp from "../../../crates/portway-web/types/mcp.js";
import type * as declaredSubscription from "../../../crates/portway-web/types/subscription.js";
import type * as declaredTap from "../../../crates/portway-web/types/tap.js";
import type * as declaredWipc from "../../../crates/portway-web/types/wipc.js";
import type * as declaredWipcNode from "../../../crates/portway-web/types/wipc-node.js";
import type * as early from "../../../crates/portway-web/js/entry/early.js";
import type * as inline from "../../../crates/portway-web/js/entry/inline.js";
import type * as node from "../../../crates/portway-web/js/entry/node.js";
import type * as worker from "../../../crates/portway-web/js/entry/wasi-worker.js";
import type * as wasi from "../../../crates/portway-web/js/entry/wipc-wasi.js";
import type * as web from "../../../crates/portway-web/js/entry/web.js";
import type * as socket from "../../../crates/portway-web/js/entry/websocket.js";
import type * as mcp from "../../../crates/portway-web/js/entry/mcp.js";
import type * as subscription from "../../../crates/portway-web/js/entry/subscription.js";
import type * as tap from "../../../crates/portway-web/js/entry/tap.js";
import type * as wipc from "../../../crates/portway-web/js/entry/wipc.js";
import type * as wipcNode from "../../../crates/portway-web/js/entry/wipc-node.js";
import type { RequestContext } from "../../../crates/portway-web/js/driver/request-context.js";
import type { Stream } from "../../../crates/portway-web/js/driver/stream-consumer.js";
import type { WipcTransport } from "../../../crates/portway-web/js/wipc/rpc-transport.js";

/** Compiles only if `Names` is `never`. */
declare function assertEmpty<Names extends never>(): void;
/** Compiles only if a value of the type `Source` can be assigned to a variable of the type `Declared`. */
declare function assertAssignable<Declared, Source extends Declared>(): void;

/** The members that the source has and the declarations lack. */
type Undeclared<Source, Declared> = Exclude<keyof Source, keyof Declared>;
/** The members that only the source or only the declarations have. */
type Difference<Source, Declared> = Undeclared<Source, Declared> | Exclude<keyof Declared, keyof Source>;

// The exports of each module.
assertEmpty<Difference<typeof web, typeof declared>>();
assertEmpty<Difference<typeof node, typeof declared>>();
assertEmpty<Difference<typeof inline, typeof declaredInline>>();
assertEmpty<Difference<typeof early, typeof declaredEarly>>();
assertEmpty<Difference<typeof socket, typeof declaredSocket>>();
assertEmpty<Difference<typeof mcp, typeof declaredMcp>>();
assertEmpty<Difference<typeof tap, typeof declaredTap>>();
assertEmpty<Difference<typeof wipc, typeof declaredWipc>>();
assertEmpty<Difference<typeof wipcNode, typeof declaredWipcNode>>();
assertEmpty<Difference<typeof wasi, typeof declaredWasi>>();
assertEmpty<Difference<typeof worker, typeof declaredWorker>>();

// The members of each class, without those that only the library uses. `finishClass` adds the member for `using`.
type Client = InstanceType<typeof web.JSONRPCClient> & Disposable;
assertEmpty<Difference<Client, declared.JSONRPCClient>>();
assertAssignable<declared.JSONRPCClient, Client>();

type Server = InstanceType<typeof web.JSONRPCServer> & Disposable;
assertEmpty<Exclude<Difference<Server, declared.JSONRPCServer>, "errorData" | "methods" | "notifications">>();
assertAssignable<declared.JSONRPCServer, Server>();

type Peer = InstanceType<typeof web.JSONRPCPeer> & Disposable;
assertEmpty<Difference<Peer, declared.JSONRPCPeer>>();
assertAssignable<declared.JSONRPCPeer, Peer>();

assertEmpty<Difference<web.RPCError, declared.RPCError>>();
assertAssignable<declared.RPCError, web.RPCError>();
assertEmpty<Exclude<Difference<web.CallError, declared.CallError>, "forCall">>();
assertAssignable<declared.CallError, web.CallError>();

// Only Vue reads `__v_skip`, so the package does not declare this member.
assertEmpty<Exclude<Difference<RequestContext, declared.HandlerContext>, "__v_skip">>();
assertAssignable<declared.HandlerContext, RequestContext>();
assertEmpty<
  Exclude<Undeclared<Stream, AsyncIterableIterator<unknown>>, "__v_skip" | "id" | "item" | "message" | "slot">
>();
assertAssignable<AsyncIterableIterator<unknown>, Stream>();

type ChannelInternals = "checkLength" | "isDestroyed" | "isFull" | "sendMessage" | "untilWritable" | "wake";
assertEmpty<Exclude<Difference<wipc.WipcChannel, declaredWipc.WipcChannel>, ChannelInternals>>();
assertAssignable<declaredWipc.WipcChannel, wipc.WipcChannel>();
assertEmpty<Difference<wipc.WipcClosedError, declaredWipc.WipcClosedError>>();
assertAssignable<declaredWipc.WipcClosedError, wipc.WipcClosedError>();
type DecoderInternals = "isStopped" | "queuedBytes" | "resume" | "stop";
assertEmpty<Exclude<Difference<wipc.WipcDecoder, declaredWipc.WipcDecoder>, DecoderInternals>>();
assertAssignable<declaredWipc.WipcDecoder, wipc.WipcDecoder>();
assertEmpty<Difference<wipc.WipcDecoderStream, declaredWipc.WipcDecoderStream>>();
assertAssignable<declaredWipc.WipcDecoderStream, wipc.WipcDecoderStream>();
assertEmpty<Difference<wipc.WipcEncoderStream, declaredWipc.WipcEncoderStream>>();
assertAssignable<declaredWipc.WipcEncoderStream, wipc.WipcEncoderStream>();

type Guest = Awaited<ReturnType<typeof wipcNode.spawnGuest>>;
assertEmpty<Difference<Guest, declaredWipcNode.WipcGuest>>();
assertAssignable<declaredWipcNode.WipcGuest, Guest>();
type WasiGuest = Awaited<ReturnType<typeof wasi.startWasiGuest>>;
assertEmpty<Difference<WasiGuest, declaredWasi.WasiGuest>>();
assertAssignable<declaredWasi.WasiGuest, WasiGuest>();

assertEmpty<Difference<socket.ReconnectPolicy, declaredSocket.ReconnectPolicy>>();

type RecorderInternals = "add" | "isDestroyed" | "isFull" | "push" | "pushState" | "skip" | "source";
assertEmpty<Exclude<Difference<tap.TapRecorder, declaredTap.TapRecorder>, RecorderInternals>>();
assertAssignable<declaredTap.TapRecorder, tap.TapRecorder>();

// The objects that functions return, and the functions themselves.
assertAssignable<typeof declaredSocket.webSocketTransport, typeof socket.webSocketTransport>();
assertAssignable<typeof declaredSubscription.subscribe, typeof subscription.subscribe>();
assertEmpty<Undeclared<ReturnType<typeof web.portTransport>, declared.BuiltInTransport>>();
type TransportInternals = "handleClose" | "idle" | "inFlight" | "isFull" | "isWaiting" | "receive" | "sendText";
assertEmpty<Exclude<Undeclared<WipcTransport, declared.BuiltInTransport>, TransportInternals>>();
assertEmpty<Difference<ReturnType<typeof web.validateMessage>, declared.ValidationReport>>();
assertEmpty<Difference<typeof wipc.WipcType, typeof declaredWipc.WipcType>>();
assertAssignable<typeof declared.default, typeof web.default>();
assertAssignable<typeof declared.default, typeof node.default>();
assertAssignable<typeof declared.default, typeof inline.default>();
assertAssignable<typeof declared.initSync, typeof web.initSync>();
assertAssignable<typeof declared.broadcastTransport, typeof web.broadcastTransport>();
assertAssignable<typeof declared.connect, typeof node.connect>();
assertAssignable<typeof declared.portTransport, typeof web.portTransport>();
assertAssignable<typeof declared.selfTransport, typeof web.selfTransport>();
assertAssignable<typeof declared.validateMessage, typeof web.validateMessage>();
assertAssignable<typeof declared.windowTransport, typeof web.windowTransport>();
assertAssignable<typeof declared.workerTransport, typeof web.workerTransport>();
assertAssignable<typeof declared.workerTransport, typeof node.workerTransport>();
assertAssignable<typeof declaredTap.tap, typeof tap.tap>();
assertAssignable<typeof declaredTap.sessionTap, typeof tap.sessionTap>();
assertAssignable<typeof declaredTap.readTaps, typeof tap.readTaps>();
assertAssignable<typeof declaredWipc.WipcType, typeof wipc.WipcType>();
assertAssignable<typeof declaredWipc.encodeWipc, typeof wipc.encodeWipc>();
assertAssignable<typeof declaredWipc.parseWipcJSON, typeof wipc.parseWipcJSON>();
assertAssignable<typeof declaredWipcNode.spawnGuest, typeof wipcNode.spawnGuest>();
assertAssignable<typeof declaredWipcNode.guestChannel, typeof wipcNode.guestChannel>();
assertAssignable<typeof declaredWasi.startWasiGuest, typeof wasi.startWasiGuest>();
