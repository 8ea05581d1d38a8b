// Portway with coalescing and a tap on the client's transport. The sink receives all records, and drops them.

import { JSONRPCClient } from "../../pkg/node.js";
import { TapRecorder, tap } from "../../pkg/tap.js";
import { TIMEOUT, caller, plain, transports } from "./portway-plain.mjs";

const recorder = new TapRecorder({ sink: () => {} });

export const { serve } = plain("columns");
export const call = (side) =>
  caller(
    new JSONRPCClient(tap(transports[side.kind](side), { sink: recorder }), { coalesce: "columns", timeout: TIMEOUT }),
  );
