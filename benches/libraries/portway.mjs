// Portway with coalescing: messages of one turn are posted together, as columns.

import { plain } from "./portway-plain.mjs";

export const { call, serve } = plain("columns");
