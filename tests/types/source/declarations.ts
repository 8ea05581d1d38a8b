// Compares the exports of the JavaScript of portway-web with the declarations of the package. Each line compiles only
// if the source and the declarations agree. If only one of them has a member, the error names this member:
// `Type '"batch"' does not satisfy the constraint 'never'`.

import type * as declared from "../../../crates/portway-web/types/portway.js";
import type * as declaredEarly from "../../../crates/portway-web/types/early.js";
import type * as declaredInline from "../../../crates/portway-web/types/inline.js";
import type * as declaredWorker from "../../../crates/portway-web/types/wasi-worker.js";
import type * as declaredWasi from "../../../crates/portway-web/types/wipc-wasi.js";
import type * as declaredSocket from "../../../crates/portway-web/types/websocket.js";
import type * as declaredWipc from "../../../crates/portway-web/types/wipc.js";
import type * as declaredWipcNode from "../../../crates/portway-web/types/wipc-node.js";
import type * as early from "../../../crates/portway-web/js/entry/early.js";
import type * as inline from "../../../crates/portway-web/js/entry/inline.js";
import type * as node from "../../../crates/portway-web/js/entry/node.js";
import type * as worker from "../../../crates/portway-web/js/entry/wasi-worker.js";
import type * as wasi from "../../../crates/portway-web/js/entry/wipc-wasi.js";
import type * as web from "../../../crates/portway-web/js/entry/web.js";
import type * as socket from "../../../crates/portway-web/js/entry/websocket.js";
import type * as wipc from "../../../crates/portway-web/js/entry/wipc.js";
import type * as wipcNode from "../../../crates/portway-web/js/entry/wipc-node.js";
import type { RequestContext } from "../../../crates/portway-web/js/driver/request-context.js";
import type { Stream } from "../../../crates/portway-web/js/driver/stream-consumer.js";
import type { WipcTransport } from "../../../crates/portway-web/js/wipc/rpc-transport.js";

/** Compiles if `Names` has no members. */
declare function none<Names extends never>(): void;
/** Compiles if a value of the source can be used as declared. */
declare function suits<Declared, Source extends Declared>(): void;

/** The members that the source has and the declarations lack. */
type Undeclared<Source, Declared> = Exclude<keyof Source, keyof Declared>;
/** The members that only the source or only the declarations have. */
type Difference<Source, Declared> = Undeclared<Source, Declared> | Exclude<keyof Declared, keyof Source>;

// The exports of each module.
none<Difference<typeof web, typeof declared>>();
none<Difference<typeof node, typeof declared>>();
none<Difference<typeof inline, typeof declaredInline>>();
none<Difference<typeof early, typeof declaredEarly>>();
none<Difference<typeof socket, typeof declaredSocket>>();
none<Difference<typeof wipc, typeof declaredWipc>>();
none<Difference<typeof wipcNode, typeof declaredWipcNode>>();
none<Difference<typeof wasi, typeof declaredWasi>>();
none<Difference<typeof worker, typeof declaredWorker>>();

// The members of each class, without those that only the library uses. `finishClass` adds the member for `using`.
type Client = InstanceType<typeof web.JSONRPCClient> & Disposable;
none<Difference<Client, declared.JSONRPCClient>>();
suits<declared.JSONRPCClient, Client>();

type Server = InstanceType<typeof web.JSONRPCServer> & Disposable;
none<Exclude<Difference<Server, declared.JSONRPCServer>, "errorData" | "methods" | "notifications">>();
suits<declared.JSONRPCServer, Server>();

type Peer = InstanceType<typeof web.JSONRPCPeer> & Disposable;
none<Difference<Peer, declared.JSONRPCPeer>>();
suits<declared.JSONRPCPeer, Peer>();

none<Difference<web.RPCError, declared.RPCError>>();
suits<declared.RPCError, web.RPCError>();
none<Exclude<Difference<web.CallError, declared.CallError>, "forCall">>();
suits<declared.CallError, web.CallError>();

// Only Vue reads `__v_skip`, so the package does not declare this member.
none<Exclude<Difference<RequestContext, declared.HandlerContext>, "__v_skip">>();
suits<declared.HandlerContext, RequestContext>();
none<Exclude<Undeclared<Stream, AsyncIterableIterator<unknown>>, "__v_skip" | "id" | "item" | "message" | "slot">>();
suits<AsyncIterableIterator<unknown>, Stream>();

type ChannelInternals = "checkLength" | "isDestroyed" | "isFull" | "sendMessage" | "untilWritable" | "wake";
none<Exclude<Difference<wipc.WipcChannel, declaredWipc.WipcChannel>, ChannelInternals>>();
suits<declaredWipc.WipcChannel, wipc.WipcChannel>();
none<Difference<wipc.WipcClosedError, declaredWipc.WipcClosedError>>();
suits<declaredWipc.WipcClosedError, wipc.WipcClosedError>();
type DecoderInternals = "isStopped" | "queuedBytes" | "resume" | "stop";
none<Exclude<Difference<wipc.WipcDecoder, declaredWipc.WipcDecoder>, DecoderInternals>>();
suits<declaredWipc.WipcDecoder, wipc.WipcDecoder>();
none<Difference<wipc.WipcDecoderStream, declaredWipc.WipcDecoderStream>>();
suits<declaredWipc.WipcDecoderStream, wipc.WipcDecoderStream>();
none<Difference<wipc.WipcEncoderStream, declaredWipc.WipcEncoderStream>>();
suits<declaredWipc.WipcEncoderStream, wipc.WipcEncoderStream>();

type Guest = Awaited<ReturnType<typeof wipcNode.spawnGuest>>;
none<Difference<Guest, declaredWipcNode.WipcGuest>>();
suits<declaredWipcNode.WipcGuest, Guest>();
type WasiGuest = Awaited<ReturnType<typeof wasi.startWasiGuest>>;
none<Difference<WasiGuest, declaredWasi.WasiGuest>>();
suits<declaredWasi.WasiGuest, WasiGuest>();

none<Difference<socket.ReconnectPolicy, declaredSocket.ReconnectPolicy>>();

// The objects that functions return, and the functions themselves.
suits<typeof declaredSocket.webSocketTransport, typeof socket.webSocketTransport>();
suits<typeof declaredSocket.subscribe, typeof socket.subscribe>();
none<Undeclared<ReturnType<typeof web.portTransport>, declared.BuiltInTransport>>();
type TransportInternals = "atWork" | "handleClose" | "idle" | "isFull" | "isWaiting" | "receive";
none<Exclude<Undeclared<WipcTransport, declared.BuiltInTransport>, TransportInternals>>();
none<Difference<ReturnType<typeof web.validateMessage>, declared.ValidationReport>>();
none<Difference<typeof wipc.WipcType, typeof declaredWipc.WipcType>>();
suits<typeof declared.default, typeof web.default>();
suits<typeof declared.default, typeof node.default>();
suits<typeof declared.default, typeof inline.default>();
suits<typeof declared.initSync, typeof web.initSync>();
suits<typeof declared.broadcastTransport, typeof web.broadcastTransport>();
suits<typeof declared.connect, typeof node.connect>();
suits<typeof declared.portTransport, typeof web.portTransport>();
suits<typeof declared.selfTransport, typeof web.selfTransport>();
suits<typeof declared.validateMessage, typeof web.validateMessage>();
suits<typeof declared.windowTransport, typeof web.windowTransport>();
suits<typeof declared.workerTransport, typeof web.workerTransport>();
suits<typeof declared.workerTransport, typeof node.workerTransport>();
suits<typeof declaredWipc.WipcType, typeof wipc.WipcType>();
suits<typeof declaredWipc.encodeWipc, typeof wipc.encodeWipc>();
suits<typeof declaredWipc.parseWipcJSON, typeof wipc.parseWipcJSON>();
suits<typeof declaredWipcNode.spawnGuest, typeof wipcNode.spawnGuest>();
suits<typeof declaredWipcNode.guestChannel, typeof wipcNode.guestChannel>();
suits<typeof declaredWasi.startWasiGuest, typeof wasi.startWasiGuest>();
