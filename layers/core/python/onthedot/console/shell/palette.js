// @ts-check
// The palette: pages, actions, and jobs by the start of their name.
import { html, useEffect, useId, useMemo, useRef, useState } from "../lib/html.js";
import { get } from "../lib/api.js";
import { COPY } from "../lib/copy_as.js";
import { go, jobHref, route } from "../lib/router.js";
import { mayAct, signOut } from "../lib/session.js";
import { canPause, isOver } from "../lib/states.js";
import { toggleTheme } from "../lib/theme.js";
import { relative, toggleUtc } from "../lib/time.js";
import { copyCommand, copyText } from "../components/bits.js";
import { Dialog } from "../components/dialog.js";
import { Icon, Mark } from "../components/marks.js";
import { plainly } from "../components/said.js";

const WAIT_MS = 120;

/** Jobs whose name starts with the text: [jobs, ms that the search took]. */
function useJobs(text) {
  const [found, setFound] = useState({ text: "", jobs: [], took: null });
  useEffect(() => {
    if (!text) return undefined;
    const controller = new AbortController();
    const timer = setTimeout(async () => {
      const start = performance.now();
      try {
        const data = await get("jobs", { name: text, limit: 6 }, { signal: controller.signal });
        setFound({ text, jobs: data.jobs, took: Math.round(performance.now() - start) });
      } catch {
        // The list stays without jobs; the pages below say what is wrong.
      }
    }, WAIT_MS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [text]);
  if (!text) return { jobs: [], took: null };
  // Until the answer comes, jobs of the text before stay only if they match: Enter opens no other job.
  return found.text === text ? found : { jobs: found.jobs.filter((job) => job.name?.startsWith(text)), took: null };
}

/** What one may do with a job, as far as the API accepts it in its state. */
function actionsOn(job) {
  const name = job.name ?? job.job_id;
  /** @type {[string, string, string, string, any][]} */
  const acts = [
    mayAct.value && ["play", `Run ${name} now`, "asks first", "run", COPY.run],
    mayAct.value && job.status === "PAUSED" && ["play", `Resume ${name}`, "asks first", "pause", COPY.resume],
    mayAct.value && canPause(job) && ["pause", `Pause ${name}`, "asks first", "pause", COPY.pause],
    [
      "clock",
      isOver(job.status) ? `What happened to ${name}?` : `Why has ${name} not run?`,
      "opens explain",
      "why",
      COPY.explain,
    ],
  ];
  return acts.filter(Boolean).map(([icon, text, sub, act, copy]) => ({
    group: `Actions on ${name}`,
    icon,
    text,
    sub,
    run: () => {
      location.hash = jobHref(job.job_id, { do: act });
    },
    call: copy(job.job_id),
  }));
}

function entries(text, jobs, pages, onHelp) {
  const to = (path, query) => () => go(path, query);
  const has = (name) => name.toLowerCase().includes(text.toLowerCase());
  const jobGroup = jobs.map((job) => ({
    group: "Jobs",
    mark: job.status,
    text: job.name ?? job.job_id,
    sub: job.next_fire_time ? `next ${relative(job.next_fire_time)}` : plainly(job.reason ?? job.status.toLowerCase()),
    run: () => {
      location.hash = jobHref(job.job_id);
    },
    call: COPY.get(job.job_id),
  }));
  const ofFirst = jobs.length ? actionsOn(jobs[0]) : [];
  const pageGroup = pages.filter(Boolean).map(([, path, icon, name, key]) => ({
    group: "Go to",
    icon,
    text: name,
    keys: ["G", key.toUpperCase()],
    run: to(path),
  }));
  const actions = [
    ...(mayAct.value ? [{ icon: "plus", text: "New job", keys: ["N"], run: to("/new") }] : []),
    { icon: "theme", text: "Light or dark", keys: ["T"], run: toggleTheme },
    { icon: "clock", text: "Local time or UTC", keys: ["U"], run: toggleUtc },
    { icon: "link", text: "Copy link to this view", keys: ["Y"], run: () => copyText(location.href, "Link copied") },
    { icon: "term", text: "Keyboard", keys: ["?"], run: onHelp },
    { icon: "key", text: "Sign out", run: () => signOut() },
  ].map((each) => ({ group: "Actions", ...each }));
  const search = text
    ? [
        {
          group: "Go to",
          icon: "search",
          text: `All jobs whose name starts with “${text}”`,
          run: to("/jobs", { name: text }),
        },
        { group: "Go to", icon: "dead", text: `Dead letters with “${text}”`, run: to("/dead-letters", { name: text }) },
      ]
    : [];
  const exact = /^(job|wf|run|exec)?_?[a-z0-9]{20,}/.test(text)
    ? [
        {
          group: "Go to",
          icon: "link",
          text: `Job ${text}`,
          run: () => {
            location.hash = jobHref(text);
          },
        },
      ]
    : [];
  return [
    ...jobGroup,
    ...ofFirst,
    ...exact,
    ...[...pageGroup, ...actions].filter((each) => !text || has(each.text)),
    ...search,
  ];
}

export function Palette({ pages, onClose, onHelp }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef(null);
  const id = useId();
  const { jobs, took } = useJobs(text.trim());
  const found = useMemo(() => entries(text.trim(), jobs, pages, onHelp), [text, jobs, route.value]);
  const chosen = Math.min(at, found.length - 1);
  useEffect(
    () => list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }),
    [chosen, found],
  );
  const run = (entry) => {
    onClose();
    entry?.run();
  };
  const onKey = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((chosen + step + found.length) % found.length);
    else if (event.key === "Enter") run(found[chosen]);
    else if (event.key === "c" && (event.ctrlKey || event.metaKey) && found[chosen]?.call && !getSelection().toString())
      copyCommand(found[chosen].call);
    else return;
    event.preventDefault();
  };
  const option = (
    entry,
    index,
  ) => html`<div role="option" id=${`${id}-${index}`} aria-selected=${String(index === chosen)} onClick=${() => run(entry)} onMouseMove=${() => index !== chosen && setAt(index)}>
    ${entry.mark ? html`<${Mark} status=${entry.mark} />` : html`<${Icon} name=${entry.icon} />`}<span class="cut">${entry.text}</span><span class="psub cut">${entry.sub}</span>
    <span class="nowrap">${(entry.keys ?? (index === chosen ? ["↵"] : [])).map((key) => html`<kbd>${key}</kbd>`)}</span></div>`;
  const groups = [...new Set(found.map((entry) => entry.group))];
  return html`<${Dialog} label="Search, go, act" onClose=${onClose}><div class="pin"><${Icon} name="search" />
    <input data-first type="text" role="combobox" aria-expanded="true" aria-controls=${`${id}-list`} aria-activedescendant=${found.length ? `${id}-${chosen}` : null} aria-label="Search jobs, pages and actions" placeholder="Job, page or action" autocomplete="off" spellcheck=${false} value=${text} onInput=${(
      event,
    ) => {
      setText(event.target.value);
      setAt(0);
    }} onKeyDown=${onKey} />
    ${took !== null && html`<span class="faint">${took} ms</span>`}<kbd aria-hidden="true">Esc</kbd></div>
    <div class="plist" role="listbox" id=${`${id}-list`} aria-label="Found" ref=${list}>${groups.map(
      (group) => html`<div role="group" aria-label=${group}><div class="grp" aria-hidden="true">${group}</div>
      ${found.map((entry, index) => entry.group === group && option(entry, index))}</div>`,
    )}</div>
    <div class="pfoot"><span><kbd>↑</kbd><kbd>↓</kbd> choose</span><span><kbd>↵</kbd> open</span><span><kbd>Ctrl</kbd><kbd>C</kbd> copy as CLI</span></div><//>`;
}
