// The whole page: the token page without a token, else the shell with the view of the route.
import { html, signal, useEffect, useState } from "../lib/html.js";
import { route } from "../lib/router.js";
import { token } from "../lib/session.js";
import { Button } from "../components/bits.js";
import { Empty, Failed, Loading } from "../components/states.js";
import { Shell } from "./shell.js";
import { TokenPage } from "./token_page.js";

const ready = signal({});

export const App = () => (token.value ? html`<${Shell}><${View} /><//>` : html`<${TokenPage} />`);

/** The view of the route. Its module is loaded when it is first needed. */
function View() {
  const { view, load, path } = route.value;
  const [failed, setFailed] = useState(null);
  const module = ready.value[view];
  useEffect(() => {
    setFailed(null);
    if (!view || module) return;
    load().then((loaded) => (ready.value = { ...ready.value, [view]: loaded }), (error) => setFailed(error));
  }, [view]);
  useEffect(() => {
    document.title = `${module?.title?.(route.value) ?? "onthedot"} · onthedot`;
  }, [module, path]);
  if (!view) return html`<h1>There is no such page</h1><${Empty} title=${`Nothing is at ${path}`} text="The menu leads to every page." />`;
  if (failed && !module) return html`<h1>This page could not be loaded</h1><${Failed} error=${{ status: 0, code: "not_loaded", message: "The console may have been updated. Load it again.", details: [] }} /><${Button} onClick=${() => location.reload()}>Load again<//>`;
  if (!module) return html`<h1 class="vh">Loading</h1><${Loading} />`;
  const Current = module.default;
  return html`<${Current} key=${`${view} ${JSON.stringify(route.value.params)}`} route=${route.value} />`;
}
