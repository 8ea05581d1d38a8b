import { render } from "preact";
import { App } from "./App";
import "./style.css";

render(<App />, document.getElementById("app")!);

console.log("Harbour board is up at", location.pathname);
