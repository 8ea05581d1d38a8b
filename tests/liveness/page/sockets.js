// Tests WebSockets whose servers end or hang.

import * as websocket from "/pkg/websocket.js";
import { portway } from "./boundaries.js";
import { socketKinds } from "./socket-kinds.js";

const handle = (driver, command) => driver("control a socket server", command);

export const sockets = socketKinds({ ...portway, ...websocket }, {}, handle);
