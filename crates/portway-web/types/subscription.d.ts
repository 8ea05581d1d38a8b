// `portway/subscription`: subscriptions over a transport of `portway/websocket`.

import type { JSONRPCClient } from "./portway.js";
import type { PerAttempt, WebSocketTransport } from "./websocket.js";

/** A gap in the items of a subscription. */
export interface SubscriptionGap {
  /** The time of the last item or subscription before the gap: milliseconds since 1970, as `Date.now()` returns. */
  readonly since: number;
  /**
   * The number of items that were dropped, because they were not read. 0 if a new connection is the cause. Some items
   * that were dropped before the id of the subscription arrived are not counted.
   */
  readonly dropped: number;
}

/** Options of `subscribe`. */
export interface SubscribeOptions<Item = any> {
  /** The transport of the client. */
  transport: WebSocketTransport;
  /** The method that subscribes, such as `eth_subscribe`. */
  method: string;
  /** The params of `method`, or a function that returns them for each subscription. */
  params?: PerAttempt<object | undefined> | undefined;
  /** The method that ends a subscription. Its params are an array with the id. Default: none. */
  unsubscribe?: string | undefined;
  /** The notification that carries the items, such as `eth_subscription`. */
  notification: string;
  /** Returns the id of the subscription from the result of `method`. Default: the result. */
  readId?: ((result: any) => unknown) | undefined;
  /** Returns the id of the subscription from the params of a notification. Default: `params.subscription`. */
  readEventId?: ((params: any) => unknown) | undefined;
  /** Returns the item from the params of a notification. Default: `params.result`. */
  readItem?: ((params: any) => Item) | undefined;
  /** Called after a gap, because a new connection was subscribed, or because items were dropped. */
  onGap?: ((gap: SubscriptionGap) => void) | undefined;
  /** The maximum number of unread items. If there are more, the oldest items are dropped. Default: 1 000. */
  buffer?: number | undefined;
  /** The timeout of the calls of `method`, in ms. Default: the timeout of the client. */
  timeout?: number | undefined;
  /** Ends the subscription: the next read rejects with `signal.reason`. */
  signal?: AbortSignalLike | undefined;
}

/** An `AbortSignal`. */
export interface AbortSignalLike {
  readonly aborted: boolean;
  readonly reason: any;
  addEventListener(type: "abort", listener: () => void): void;
  removeEventListener(type: "abort", listener: () => void): void;
}

/**
 * Subscribes at a peer that answers `method` with an id, and sends the items in notifications with this id. Returns the
 * items. Subscribes at once, and again on each new connection. Notifications that arrive before the id are queued.
 *
 * The end of the loop, or `return()`, ends the subscription and calls `unsubscribe`. If `method` fails, or if no
 * further connection follows, the next read rejects.
 *
 * Throws a `TypeError` if an argument or option is missing, unknown or of a wrong type, and a `RangeError` if a number
 * is too small.
 */
export function subscribe<Item = any>(
  client: Pick<JSONRPCClient, "request">,
  options: SubscribeOptions<Item>,
): AsyncIterableIterator<Item>;
