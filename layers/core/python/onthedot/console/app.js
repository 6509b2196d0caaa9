// The start of the console.
import { html, render } from "./lib/html.js";
import "./lib/theme.js";
import { App } from "./shell/app.js";

render(html`<${App} />`, document.getElementById("root"));
