// `portway/subscription`: subscriptions over a transport of `portway/websocket`.

export { subscribe } from "../websocket/subscription.js";
