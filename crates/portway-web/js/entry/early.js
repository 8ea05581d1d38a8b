import "../transport/early.js";
