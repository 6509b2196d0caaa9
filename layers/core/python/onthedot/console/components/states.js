// @ts-check
// Empty, loading, failed and old: a view is always in one of these or shows its data.
import { html } from "../lib/html.js";
import { duration, moment, now, relative } from "../lib/time.js";
import { Button, CopyButton } from "./bits.js";
import { Mark } from "./marks.js";
import { Said } from "./said.js";

/** Nothing to show: a heading, a sentence and what to do. `children`: buttons. */
export function Empty({ title, text, children }) {
  return html`<div class="empty"><svg class="chart emptyline" viewBox="0 0 320 24" aria-hidden="true"><path class="base dash" d="M0 12H320" />
    ${[20, 90, 160, 230, 300].map((x) => html`<path class="tick" d=${`M${x} 8v8`} />`)}<circle class="halo-bg" cx="160" cy="12" r="9" /><circle class="k-wait" cx="160" cy="12" r="6" /></svg>
    <h2>${title}</h2>${text && html`<p class="muted">${text}</p>`}${children && html`<div class="blank-acts">${children}</div>`}</div>`;
}

/** Rows of grey bars while the first answer is on its way. */
export const Loading = ({ rows = 5, label = "Loading" }) => html`<div class="skrows" role="status" aria-label=${label}>
  ${Array.from({ length: rows }, (_, row) => html`<div class="skrow" aria-hidden="true"><span class=${`sk w${[60, 80, 50, 40][row % 4]}`}></span><span class="sk w40"></span></div>`)}</div>`;

/** A call that failed, in a card of its own. */
export function Failed({ error, onRetry }) {
  return html`<div class="banner" role="alert"><${Mark} status="failed" /><div><p><strong>${headline(error)}</strong> <${Said} text=${error.message} /></p>
    <p class="muted"><${Details} error=${error} /></p></div>
    <div class="acts">${onRetry && html`<${Button} small icon="redo" onClick=${onRetry}>Try now<//>`}<${CopyButton} text=${detailText(error)} label="Copy details" /></div></div>`;
}

/** What is shown is old, because the latest call failed. `poll` is what usePoll returned. */
export function Stale({ poll }) {
  if (!poll.stale) return null;
  const { error, at, nextTry, refresh } = poll;
  const age = duration(Math.max(0, Math.floor((now.value - at) / 1000) * 1000));
  return html`<div class="banner" role="alert"><${Mark} status="failed" /><div><p><strong>${headline(error)}</strong> These figures are from ${moment(at)}, ${age} ago.${nextTry && nextTry > now.value ? ` Next try ${relative(nextTry)}.` : ""}</p>
    <p class="muted"><${Details} error=${error} /></p></div>
    <div class="acts"><${Button} small icon="redo" onClick=${refresh}>Try now<//><${CopyButton} text=${detailText(error)} label="Copy details" /></div></div>`;
}

const headline = (error) =>
  error.status === 0
    ? "The API is not responding."
    : error.status === 404
      ? "There is nothing here."
      : error.status === 403
        ? "Your role does not allow this."
        : "The API refused the request.";

const Details = ({ error }) =>
  html`<code>${error.status ? `${error.status} ${error.code}` : error.code}</code>${error.status !== 0 && error.requestId ? html` request <code>${error.requestId}</code>` : null}`;

const detailText = (error) =>
  JSON.stringify(
    {
      status: error.status,
      code: error.code,
      message: error.message,
      details: error.details,
      request_id: error.requestId,
    },
    null,
    2,
  );

/** Render data of usePoll in its right state: <${Polled} poll=${p} empty=${…}>${(data) => html`…`}<//>. */
export function Polled({ poll, loading, children }) {
  if (poll.data !== null)
    return html`<${Stale} poll=${poll} /><div class=${poll.stale ? "stale" : ""}>${children(poll.data)}</div>`;
  if (poll.error)
    return poll.error.status === 401 ? null : html`<${Failed} error=${poll.error} onRetry=${poll.refresh} />`;
  return loading ?? html`<${Loading} />`;
}
