// Nothing is scheduled yet: what to do first.
import { html } from "../../lib/html.js";
import { COPY } from "../../lib/copy_as.js";
import { Acts } from "../../lib/roles.js";
import { wholeDuration } from "../../lib/time.js";
import { tickAge } from "../../shell/shell.js";
import { ButtonLink, CopyAs } from "../../components/bits.js";
import { Figure } from "../../charts/figure.js";

const FIRST = { name: "first-dot", delay: 5, callback_url: "https://example.com/hook" };
const STEPS = [["A time", "At 09:00 in Berlin, in 10 minutes, every 30 seconds, or by cron."], ["A target", "A URL, a Lambda function, any AWS call, gRPC, a program or a Python function."], ["A record", "Each expected run ends in one outcome, with its reason and its lateness."]];

export function First({ data }) {
  const age = tickAge();
  return html`<div class="blank"><${Figure} label="An empty time line" height=${40} draw=${(width) => html`<path class="base dash" d=${`M0 20H${width}`} />
      ${Array.from({ length: Math.floor(width / 52) }, (_, place) => html`<path class="tick" d=${`M${8 + place * 52} 15v10`} />`)}<path class="now" d=${`M${width / 3} 4V36`} /><circle class="halo-bg" cx=${width * 0.58} cy="20" r="11" /><circle class="k-wait" cx=${width * 0.58} cy="20" r="7" />`} />
    <h1>Nothing is scheduled yet</h1><p class="lead">One line puts the first dot on the line. It shows up here by itself.</p>
    <div class="card first"><div class="body"><${CopyAs} forms=${COPY.create(FIRST)} label="The first job as a command" /></div></div>
    <${Acts}><div class="blank-acts"><${ButtonLink} kind="primary" href="#/new" icon="plus" hotkey="N">New job<//></div><//>
    <ul class="next3">${STEPS.map(([name, text]) => html`<li><b>${name}</b><span>${text}</span></li>`)}</ul>
    <p class="faint listen"><span class="live">Engine ${data.engine} ${data.version} is up${age === null ? "" : `, last tick ${wholeDuration(age * 1000)} ago`}</span></p></div>`;
}
