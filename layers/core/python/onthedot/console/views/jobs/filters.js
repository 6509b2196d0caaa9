// The filters: a name as one types, kind, priority, status, and chips for the rest. All of them are in the URL.
import { html, useState } from "../../lib/html.js";
import { word } from "../../lib/format.js";
import { href, route, setQuery } from "../../lib/router.js";
import { Button, Segments } from "../../components/bits.js";
import { Dialog } from "../../components/dialog.js";
import { Icon, Mark } from "../../components/marks.js";
import { NameSearch } from "../../components/search.js";

const STATUSES = ["ACTIVE", "RUNNING", "RETRYING", "FAILED", "PAUSED", "WAITING", "PENDING", "DISPATCHED", "SUCCEEDED", "SKIPPED", "CANCELLED", "COMPLETED"];
const KINDS = [["", "All kinds"], ["recurring", "Recurring"], ["one-off", "One-off"], ["event", "Event"]];

/** Change filters; the page starts again at the first jobs. */
const choose = (changes, options) => setQuery({ ...changes, cursor: null }, options);

const Chip = ({ on, onClick, children, label }) => html`<button type="button" class="chip" aria-pressed=${String(on)} aria-label=${label} onClick=${onClick}>${children}</button>`;

const Removable = ({ name, value }) => html`<${Chip} on=${true} label=${`Remove the filter ${name} ${value}`} onClick=${() => choose({ [name]: null })}>${name} ${value} <${Icon} name="x" /><//>`;

export function Filters({ query }) {
  const [open, setOpen] = useState(false);
  const at = (changes) => href("/jobs", { ...route.value.query, ...changes, cursor: null });
  const priority = (event) => choose({ priority: event.target.value || null });
  const status = (one) => choose({ status: query.status === one ? null : one });
  return html`<div class="filters"><div class="line1"><${NameSearch} name=${query.name} label="Find by name: any prefix" />
    <${Segments} small label="Kind" choices=${KINDS.map(([kind, label]) => ({ href: at({ kind }), label, current: (query.kind ?? "") === kind }))} />
    <select class="select" aria-label="Priority" value=${query.priority ?? ""} onChange=${priority}><option value="">Any priority</option>${["HIGH", "MEDIUM", "LOW"].map((one) => html`<option value=${one} selected=${query.priority === one}>${word(one)}</option>`)}</select>
    <span class="chips">${query.tag && html`<${Removable} name="tag" value=${query.tag} />`}${query.workflow && html`<${Removable} name="workflow" value=${query.workflow} />`}
      <${Chip} on=${false} onClick=${() => setOpen(true)}><${Icon} name="plus" />Filter<//></span></div>
    <div class="chips" role="group" aria-label="Status"><${Chip} on=${!query.status} onClick=${() => choose({ status: null })}>All<//>
      ${STATUSES.map((one) => html`<${Chip} on=${query.status === one} onClick=${() => status(one)}><${Mark} status=${one} />${word(one)}<//>`)}</div>
    ${open && html`<${MoreFilters} query=${query} onClose=${() => setOpen(false)} />`}</div>`;
}

/** Tag and workflow: one types them, since no list of all of them exists. */
function MoreFilters({ query, onClose }) {
  const [tag, setTag] = useState(query.tag ?? "");
  const [workflow, setWorkflow] = useState(query.workflow ?? "");
  const apply = (event) => {
    event.preventDefault();
    onClose();
    choose({ tag: tag.trim() || null, workflow: workflow.trim() || null });
  };
  return html`<${Dialog} label="More filters" className="ask" onClose=${onClose}><form onSubmit=${apply}>
    <div class="pin"><h2>More filters</h2><kbd aria-hidden="true">Esc</kbd></div>
    <div class="ebody"><div class="field"><label for="filter-tag">Tag</label><input class="input" id="filter-tag" data-first value=${tag} maxlength="511" placeholder="team or team=core" onInput=${(event) => setTag(event.target.value)} /></div>
      <div class="field"><label for="filter-workflow">Workflow</label><input class="input mono" id="filter-workflow" value=${workflow} placeholder="the id of a run of a workflow" onInput=${(event) => setWorkflow(event.target.value)} /></div></div>
    <div class="pfoot acts"><span class="r"><${Button} kind="quiet" hotkey="Esc" onClick=${onClose}>Back<//><button type="submit" class="btn primary">Filter</button></span></div></form><//>`;
}
