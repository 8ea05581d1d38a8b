// A realm of its own, in which the page opens ends: they live and die with this window.

import init, { connect } from "/pkg/portway.js";

await init();
window.connect = connect;
window.ready = true;
