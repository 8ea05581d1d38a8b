// An end in a frame or a popup; it does to itself what it is told to.

import init, { connect } from "/pkg/portway.js";
import { optionsFrom, spin } from "./serve.js";

addEventListener("message", ({ data }) => {
  if (data?.type === "reload") location.reload();
  if (data?.type === "spin") spin(data.ms);
});
await init();
// Whoever opened it may be gone when it comes up.
await connect(opener ?? parent, optionsFrom(location.search)).catch(() => {});
