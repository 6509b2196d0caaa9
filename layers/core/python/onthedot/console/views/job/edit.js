// @ts-check
// Edit: the form first, then what the change does (fires that move, vanish or appear, then fields), then Save.
import { html, useId, useMemo, useState } from "../../lib/html.js";
import { ApiError, get, patch } from "../../lib/api.js";
import { plural } from "../../lib/format.js";
import { Button } from "../../components/bits.js";
import { Dialog } from "../../components/dialog.js";
import { Said } from "../../components/said.js";
import { announce } from "../../components/toast.js";
import { scheduleOf, usePreview } from "../new/fires.js";
import { changes, formOf } from "../new/model.js";
import { How, What, When } from "../new/sections.js";
import { Review } from "./review.js";

/** A job stays of its kind: once, recurring, or on events. */
const kindsOf = (when) =>
  ["cron", "every"].includes(when) ? ["cron", "every"] : when === "at" ? ["at", "delay"] : [when];

export function Edit({ job, onClose, onSaved }) {
  // The job as it was when the dialog opened: a poll must not change the form under one's hands.
  const [seen, setSeen] = useState(job);
  const before = useMemo(() => formOf(seen), [seen]);
  const [f, setF] = useState(before);
  const [step, setStep] = useState("form");
  const [refused, setRefused] = useState(null);
  const [busy, setBusy] = useState(false);
  const id = useId();
  const { body, problems, rows } = useMemo(() => changes(seen, before, f), [seen, before, f]);
  const recurs = ["cron", "every"].includes(f.when) && f[f.when].trim() !== "";
  const schedule = recurs
    ? scheduleOf({
        ...(f.when === "cron"
          ? { cron: f.cron.trim(), timezone: f.timezone.trim() || "UTC", dst: { gap: f.gap, overlap: f.twice } }
          : { every: Number(f.every) || f.every }),
        jitter_seconds: Number(f.jitter) || (f.jitter.trim() ? f.jitter : undefined),
        start_at: body.start_at ?? seen.start_at,
        end_at: "end_at" in body ? body.end_at : seen.end_at,
      })
    : null;
  const live = usePreview(schedule, { count: 50 });
  const errors = [...problems, ...(live.error?.status === 422 ? live.error.details : []), ...(refused?.details ?? [])];
  const set = (change) => {
    setF((old) => ({ ...old, ...change }));
    setRefused(null);
  };
  const changed = Object.keys(body).length;
  const save = async () => {
    setBusy(true);
    try {
      const saved = await patch(`jobs/${encodeURIComponent(seen.job_id)}`, body, {
        headers: { "If-Match": String(seen.version) },
      });
      announce(`Saved: version ${saved.version}`);
      onSaved();
      onClose();
    } catch (error) {
      setRefused(error instanceof ApiError ? error : new ApiError(0, "error", String(error)));
      if (error.status === 422) setStep("form");
      setBusy(false);
    }
  };
  const meanwhile = refused?.status === 412;
  /** Put what was typed on top of the job as it is now. */
  const takeNew = async () => {
    setBusy(true);
    try {
      const fresh = await get(`jobs/${encodeURIComponent(seen.job_id)}`);
      const typed = Object.fromEntries(Object.entries(f).filter(([name, value]) => value !== before[name]));
      setSeen(fresh);
      setF({ ...formOf(fresh), ...typed });
      setRefused(null);
      setStep("form");
    } catch (error) {
      setRefused(error);
    }
    setBusy(false);
  };
  const note =
    refused &&
    html`<div class="banner" role="alert"><span></span><p>${meanwhile ? html`<strong>The job has changed in the meantime.</strong> You saw version ${seen.version}. ` : html`<strong>Not saved.</strong> `}<${Said} text=${refused.message} /></p>${meanwhile && html`<div class="acts"><${Button} small onClick=${takeNew}>Review against the new version<//></div>`}</div>`;
  const name = seen.name ?? seen.job_id;
  if (step === "review")
    return html`<${Dialog} key="review" titleId=${id} className="edit" onClose=${() => setStep("form")}>
    <div class="pin"><h2 id=${id}>Review the change of ${name}</h2><span class="faint">version ${seen.version} to ${seen.version + 1}</span><kbd aria-hidden="true">Esc</kbd></div>
    <div class="ebody" tabindex="0" role="region" aria-label="The change">${note}<${Review} job=${seen} after=${schedule} body=${body} rows=${rows} f=${f} /></div>
    <div class="pfoot acts"><span>Runs that have started finish under version ${seen.version}.</span><span class="r"><${Button} small onClick=${() => setStep("form")}>Keep editing<//><${Button} small kind="primary" disabled=${busy || meanwhile} onClick=${save}>${`Save version ${seen.version + 1}`}<//></span></div><//>`;
  return html`<${Dialog} key="form" titleId=${id} className="edit wideform" onClose=${onClose}>
    <div class="pin"><h2 id=${id}>Edit ${name}</h2><span class="faint">version ${seen.version}</span><kbd aria-hidden="true">Esc</kbd></div>
    <div class="ebody" tabindex="0" role="region" aria-label="Fields">${note}<${What} form=${{ f, set, errors }} change />${f.when !== "now" && html`<${When} form=${{ f, set, errors }} kinds=${kindsOf(before.when)} />`}<${How} form=${{ f, set, errors }} /></div>
    <div class="pfoot acts"><span role="status">${errors.length ? html`<span class="t-fail">${plural(new Set(errors.map((each) => each.field)).size, "field")} to correct</span>` : changed ? plural(rows.length, "field changes", "fields change") : "No changes yet."}</span>
      <span class="r"><${Button} small kind="quiet" onClick=${onClose}>Back<//><${Button} small kind="primary" disabled=${!changed || problems.length > 0} onClick=${() => setStep("review")}>Review<//></span></div><//>`;
}
