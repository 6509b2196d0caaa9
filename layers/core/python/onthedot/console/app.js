// @ts-check
// The start of the console: the page that asks for a token, else the shell with the view of the route.
import { html, render, signal, useEffect, useRef, useState } from "./lib/html.js";
import { ApiError, call } from "./lib/api.js";
import { route } from "./lib/router.js";
import { signIn, token, tokenState } from "./lib/session.js";
import "./lib/theme.js";
import { Button } from "./components/bits.js";
import { Mark } from "./components/marks.js";
import { Empty, Failed, Loading } from "./components/states.js";
import { Shell } from "./shell/shell.js";

const COMMAND = "onthedot tokens create --tenant NAME \\\n  --role operator --name console \\\n  --expires 30d";
const hasPlace = () => location.hash.length > 2;

function TokenPage() {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const field = useRef(null);
  const rejected = tokenState.value === "rejected";
  useEffect(() => {
    document.title = `${rejected ? "Token refused" : "Token"} · onthedot`;
    field.current?.focus();
  }, [rejected]);
  const submit = async (event) => {
    event.preventDefault();
    const clean = text.trim().replace(/^bearer\s+/i, "");
    if (!clean || !/^[\x21-\x7e]+$/.test(clean))
      return setProblem(clean ? "A token has no spaces or special characters." : "Paste a token first.");
    setBusy(true);
    setProblem(await refusal(clean));
    setBusy(false);
  };
  return html`<main class="door" id="main"><div class="card door-card">
    <span class="brand"><svg viewBox="0 0 26 16" aria-hidden="true"><path class="ln" d="M1 8h6.500M18.500 8H25M4 5.500v5M22 5.500v5" /><circle class="dt" cx="13" cy="8" r="4.600" /></svg>onthedot</span>
    <h1>${rejected ? "Your token is no longer valid" : "Paste your token"}</h1>
    <p class="muted">${rejected ? "It has expired or was revoked. Nothing was lost" : "The console acts with the rights of your token"}${hasPlace() ? html`: with ${rejected ? "a new token you return" : "it you go"} to <code>${location.hash}</code>` : "."}</p>
    <form class="form" aria-label="Sign in" onSubmit=${submit}><div class="field"><label for="token">Token</label>
      <input class="input mono" id="token" ref=${field} type="password" placeholder="Paste it here" autocomplete="off" aria-invalid=${problem ? "true" : null} aria-describedby=${problem ? "token-problem" : null} value=${text} onInput=${(event) => setText(event.target.value)} />
      ${problem && html`<p class="err" id="token-problem" role="alert"><${Mark} status="failed" />${problem}</p>`}</div>
      <div class="below end"><${Button} kind="primary" icon="key" type="submit" disabled=${busy}>${busy ? "Checking" : "Continue"}<//></div></form>
    <div class="make"><h2>Create a new one</h2><pre class="code">${COMMAND}</pre></div>
    <p class="fine2"><code>onthedot serve</code> and <code>onthedot up</code> print one. The token is kept in this tab only (session storage, no cookie), and is gone when you close it.</p></div></main>`;
}

/** Try the token with one call. Return what is wrong with it, or null: then the reader is in. */
async function refusal(clean) {
  try {
    await call("GET", "jobs", { query: { limit: 1 }, headers: { Authorization: `Bearer ${clean}` } });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) return "The API does not know this token, or it has expired.";
    // A worker's token may not list jobs; any other refusal is about the call and not about the token.
    if (error.status === 403) return "This is a worker’s token. Use an operator, admin or viewer token.";
    if (error.status === 0) return error.message;
  }
  signIn(clean);
  return token.value ? null : "The browser did not keep the token.";
}

// The whole page: the token page without a token, else the shell with the view of the route.

const ready = signal({});

const App = () => (token.value ? html`<${Shell}><${View} /><//>` : html`<${TokenPage} />`);

/** The view of the route. Its module is loaded when it is first needed. */
function View() {
  const { view, load, path } = route.value;
  const [failed, setFailed] = useState(null);
  const module = ready.value[view];
  useEffect(() => {
    setFailed(null);
    if (!view || module) return;
    load().then(
      (loaded) => (ready.value = { ...ready.value, [view]: loaded }),
      (error) => setFailed(error),
    );
  }, [view]);
  useEffect(() => {
    document.title = `${module?.title?.(route.value) ?? "onthedot"} · onthedot`;
  }, [module, path]);
  if (!view)
    return html`<h1>Page not found</h1><${Empty} title=${`There is nothing at ${path}`} text="The menu leads to every page." />`;
  if (failed && !module)
    return html`<h1>This page could not be loaded</h1><${Failed} error=${{ status: 0, code: "not_loaded", message: "The console may have been updated. Reload the page.", details: [] }} /><${Button} onClick=${() => location.reload()}>Reload<//>`;
  if (!module) return html`<h1 class="vh">Loading</h1><${Loading} />`;
  const Current = module.default;
  return html`<${Current} key=${`${view} ${JSON.stringify(route.value.params)}`} route=${route.value} />`;
}

render(html`<${App} />`, document.getElementById("root"));
