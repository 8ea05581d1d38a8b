// Runs the iframe that reloads.js reloads.

import init, { connect } from "/pkg/portway.js";

await init();
await connect(parent, { methods: { echo: (params) => params } });
