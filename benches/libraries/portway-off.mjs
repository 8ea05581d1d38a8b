// Portway without coalescing: each message is posted separately.

import { plain } from "./portway-plain.mjs";

export const { call, serve } = plain(false);
