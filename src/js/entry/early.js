import "../early.js";
