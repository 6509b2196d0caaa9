// The page that asks for a token.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { ApiError, call } from "../lib/api.js";
import { signIn, token, tokenState } from "../lib/session.js";
import { Button } from "../components/bits.js";
import { Mark } from "../components/marks.js";

const COMMAND = "onthedot tokens create --tenant NAME \\\n  --role operator --name console \\\n  --expires 30d";
const hasPlace = () => location.hash.length > 2;

export function TokenPage() {
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
    if (!clean || !/^[\x21-\x7e]+$/.test(clean)) return setProblem(clean ? "A token has no spaces and no special characters." : "Paste a token first.");
    setBusy(true);
    setProblem(await refusal(clean));
    setBusy(false);
  };
  return html`<main class="door" id="main"><div class="card door-card">
    <span class="brand"><svg viewBox="0 0 26 16" aria-hidden="true"><path class="ln" d="M1 8h6.500M18.500 8H25M4 5.500v5M22 5.500v5" /><circle class="dt" cx="13" cy="8" r="4.600" /></svg>onthedot</span>
    <h1>${rejected ? "Your token is no longer valid" : "Paste your token"}</h1>
    <p class="muted">${rejected ? "It has expired or was revoked. Nothing was lost" : "The console acts with the rights of your token"}${hasPlace() ? html`: with ${rejected ? "a new token you return" : "it you go"} to <code>${location.hash}</code>` : "."}</p>
    <form class="form" aria-label="Sign in" onSubmit=${submit}><div class="field"><label for="token">Token</label>
      <input class="input mono" id="token" ref=${field} type="password" placeholder="paste it here" autocomplete="off" aria-invalid=${problem ? "true" : null} aria-describedby=${problem ? "token-problem" : null} value=${text} onInput=${(event) => setText(event.target.value)} />
      ${problem && html`<p class="err" id="token-problem" role="alert"><${Mark} status="failed" />${problem}</p>`}</div>
      <div class="below end"><${Button} kind="primary" icon="key" type="submit" disabled=${busy}>${busy ? "Checking" : "Continue"}<//></div></form>
    <div class="make"><h2>Make a new one</h2><pre class="code">${COMMAND}</pre></div>
    <p class="fine2"><code>onthedot serve</code> and <code>onthedot up</code> print one. The token stays in this tab: session storage, no cookie. Closing the tab forgets it.</p></div></main>`;
}

/** Try the token with one call. Return what is wrong with it, or null: then the reader is in. */
async function refusal(clean) {
  try {
    await call("GET", "jobs", { query: { limit: 1 }, headers: { Authorization: `Bearer ${clean}` } });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 401) return "The API does not know this token, or it has expired.";
    // A worker's token may not list jobs; any other refusal is about the call and not about the token.
    if (error.status === 403) return "This token is for workers. Use one of an operator, an admin or a viewer.";
    if (error.status === 0) return error.message;
  }
  signIn(clean);
  return token.value ? null : "The browser did not keep the token.";
}
