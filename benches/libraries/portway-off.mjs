import { plain } from "./portway-plain.mjs";

export const { call, serve } = plain(false);
