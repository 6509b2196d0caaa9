// @ts-check
// The view *New job*: a form, and next to it what it would do.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib/html.js";
import { ApiError, post } from "../lib/api.js";
import { plural } from "../lib/format.js";
import { useKeys } from "../lib/keys.js";
import { go } from "../lib/router.js";
import { mayAct, role } from "../lib/session.js";
import { Button, ButtonLink, Head } from "../components/bits.js";
import { Said } from "../components/said.js";
import { Empty, Loading } from "../components/states.js";
import { announce } from "../components/toast.js";
import { scheduleOf, usePreview } from "./new/fires.js";
import { fresh, newJob } from "./new/model.js";
import { Preview } from "./new/preview.js";
import { How, What, When } from "./new/sections.js";

export const title = () => "New job";

const KNOWN = [
  "callback_url",
  "target",
  "tags",
  "name",
  "description",
  "payload",
  "at",
  "delay",
  "cron",
  "every",
  "on_event",
  "timezone",
  "jitter_seconds",
  "start_at",
  "end_at",
  "max_runs",
  "priority",
  "retry",
  "timeout_seconds",
  "overlap",
  "misfire",
  "dst",
  "gates",
  "start_within_seconds",
  "requirements",
];

export default function View() {
  const [f, setF] = useState(fresh);
  const [refused, setRefused] = useState(null);
  const [busy, setBusy] = useState(false);
  const place = useRef(null);
  const sent = useRef({ text: null, key: null });
  const { body, problems } = useMemo(() => newJob(f), [f]);
  const recurs = ["cron", "every"].includes(f.when) && f[f.when].trim() !== "";
  const preview = usePreview(recurs ? scheduleOf(body) : null);
  const live = recurs && preview.error?.status === 422 ? preview.error.details : [];
  const errors = [...problems, ...live, ...(refused?.details ?? [])];
  const fields = new Set(errors.map((each) => each.field));
  const set = (changes) => {
    setF((before) => ({ ...before, ...changes }));
    setRefused(null);
  };
  // Before the next key, which may come before the next paint.
  useLayoutEffect(() => {
    place.current?.querySelector("[data-first]")?.focus();
  }, [mayAct.value]);
  useEffect(() => {
    if (refused) place.current?.querySelector("[aria-invalid=true]")?.focus();
  }, [refused]);
  const create = async () => {
    if (busy || problems.length) return;
    setBusy(true);
    const text = JSON.stringify(body);
    // The same form sent twice makes one job.
    if (sent.current.text !== text)
      sent.current = { text, key: `console-${Date.now()}-${Math.random().toString(36).slice(2)}` };
    try {
      const job = await post("jobs", body, { headers: { "Idempotency-Key": sent.current.key } });
      announce(`${job.name ?? job.job_id} created`);
      go(`/jobs/${job.job_id}`);
    } catch (error) {
      setRefused(error instanceof ApiError ? error : new ApiError(0, "error", String(error)));
      setBusy(false);
    }
  };
  useKeys({ "ctrl+Enter": create });
  if (!mayAct.value && role.value === null)
    return html`<${Head} title="New job" /><${Loading} label="Loading your role" />`;
  if (!mayAct.value)
    return html`<${Head} title="New job" /><${Empty} title="Your role cannot create jobs" text="Ask for a token with the operator role." />`;
  const form = { f, set, errors };
  const crumbs = html`<a href="#/jobs">Jobs</a><span aria-hidden="true">/</span><span>New</span>`;
  const other =
    refused &&
    (!refused.details.length ||
      refused.details.some(({ field }) => !KNOWN.some((name) => field === name || field.startsWith(`${name}.`))));
  return html`<${Head} title="New job" crumbs=${crumbs}>${fields.size > 0 && html`<span class="t-fail nowrap" role="status">${plural(fields.size, "field")} to correct</span>`}
      <${ButtonLink} kind="quiet" href="#/jobs">Back<//><${Button} kind="primary" hotkey="Ctrl ↵" disabled=${busy || problems.length > 0} onClick=${create}>Create job<//><//>
    ${other && html`<div class="banner" role="alert"><span></span><p><${Said} text=${refused.message} /></p></div>`}
    <div class="grid cols-form" ref=${place}><form class="stack" aria-label="New job" onSubmit=${(event) => {
      event.preventDefault();
      create();
    }}><${What} form=${form} /><${When} form=${form} /><${How} form=${form} /><button type="submit" class="vh" tabindex="-1" aria-hidden="true">Create</button></form>
      <div class="stack rail"><${Preview} f=${f} body=${body} preview=${preview} /></div></div>`;
}
