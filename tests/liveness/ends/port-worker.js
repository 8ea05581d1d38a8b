// An end in a worker, on the port that it is given.

import init, { connect } from "/pkg/portway.js";
import { methods } from "./serve.js";

const peers = [];
addEventListener("message", async ({ data }) => {
  if (data?.type === "close") for (const peer of peers) peer.destroy();
  if (data?.type !== "port") return;
  await init();
  peers.push(await connect(data.port, { connectTimeout: 0, methods }));
});
