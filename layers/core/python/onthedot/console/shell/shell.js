// @ts-check
// The frame: menu, top bar, tab bar of the phone, and the places of dialogs and messages.
import { cls, html, signal, useEffect, useId, useLayoutEffect, useRef, useSignal } from "../lib/html.js";
import { compact } from "../lib/format.js";
import { KEYS, setSingleKeys, singleKeys, useKeys } from "../lib/keys.js";
import { usePoll } from "../lib/poll.js";
import { go, route } from "../lib/router.js";
import { Acts, hasOverview, mayAct, overview, signOut } from "../lib/session.js";
import { toggleTheme } from "../lib/theme.js";
import { clock, learnClock, ms, now, toggleUtc, utc, utcText, wholeDuration, zoneName } from "../lib/time.js";
import { TickLine } from "../charts/dots.js";
import { Button, ButtonLink } from "../components/bits.js";
import { ConfirmHost, Dialog } from "../components/dialog.js";
import { Icon } from "../components/marks.js";
import { Toasts, announce } from "../components/toast.js";
import { Palette } from "./palette.js";

/**
 * The menu: [view, path, icon, text, key after G]. null: a gap.
 * @type {([string, string, string, string, string] | null)[]}
 */
const PAGES = [
  ["overview", "/", "overview", "Overview", "o"],
  ["jobs", "/jobs", "jobs", "Jobs", "j"],
  ["workflows", "/workflows", "flow", "Workflows", "f"],
  ["schedule", "/schedule", "cal", "Schedule", "s"],
  null,
  ["dead_letters", "/dead-letters", "dead", "Dead letters", "d"],
  ["workers", "/workers", "workers", "Workers", "w"],
  ["queues", "/queues", "queues", "Queues", "q"],
  ["gates", "/gates", "gates", "Gates", "g"],
];
const TABS = [
  ["overview", "/", "overview", "Overview"],
  ["jobs", "/jobs", "jobs", "Jobs"],
  ["schedule", "/schedule", "cal", "Schedule"],
  ["dead_letters", "/dead-letters", "dead", "Dead letters"],
];

export function Shell({ children }) {
  const open = useSignal(null);
  const main = useRef(null);
  useLiveOverview();
  useFocusOnMove(main);
  const show = (what) => () => {
    open.value = what;
  };
  useKeys({
    "ctrl+k": show("palette"),
    "?": show("help"),
    t: toggleTheme,
    n: () => mayAct.value && go("/new"),
    "/": focusFilter,
    Escape: goBack,
    u: () => {
      toggleUtc();
      announce(utc.value ? "Times are in UTC" : `Times are in ${zoneName.value} time`);
    },
    ...Object.fromEntries(PAGES.filter(Boolean).map(([, path, , , key]) => [`g ${key}`, () => go(path)])),
  });
  const skip = (event) => {
    event.preventDefault();
    main.current.focus();
  };
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to content</a>
    <div class="app"><${Side} /><${Top} onFind=${show("palette")} />
      <main class="main" id="main" tabindex="-1" ref=${main}>${children}</main><${TabBar} onMore=${show("palette")} /></div>
    ${open.value === "palette" && html`<${Palette} pages=${PAGES} onClose=${show(null)} onHelp=${show("help")} />`}
    ${open.value === "help" && html`<${Help} onClose=${show(null)} />`}<${ConfirmHost} /><${Toasts} />`;
}

function useLiveOverview() {
  const poll = usePoll("overview", {}, { every: 5000 });
  useEffect(() => {
    if (!poll.data) return;
    overview.value = poll.data;
    hasOverview.value = true;
    learnClock(poll.data.time);
  }, [poll.data]);
  useEffect(() => {
    if (poll.error?.status === 404) hasOverview.value = false;
  }, [poll.error]);
  useEffect(() => {
    live.value = poll;
  }, [poll.data, poll.error, poll.at, poll.nextTry]);
}

/** The poll of GET /v1/overview that the shell runs, for the view *Overview*. */
export const live = signal(/** @type {any} */ ({}));

/** After a move to another page, focus starts at its content, as after a load, or at the field that the page has chosen. */
function useFocusOnMove(main) {
  const before = useRef(route.value.path);
  const path = route.value.path;
  useLayoutEffect(() => {
    if (before.current !== path) {
      if (!document.activeElement?.matches("#main [data-first]")) main.current?.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    before.current = path;
  }, [path]);
}

function focusFilter() {
  /** @type {HTMLElement | null} */
  const field = document.querySelector("#main [data-filter]");
  field?.focus();
  return Boolean(field);
}

function goBack() {
  const focused = document.activeElement;
  if (focused instanceof HTMLElement && focused.matches("input, textarea, select")) {
    focused.blur();
    return true;
  }
  const up = route.value.path.split("/").slice(0, -1).join("/") || "/";
  if (Object.keys(route.value.params).length) go(up);
  return true;
}

const current = (view) => (route.value.menu === view ? "page" : null);

function Brand({ narrow }) {
  return html`<a class=${cls("brand", narrow && "narrow")} href="#/"><svg viewBox="0 0 26 16" aria-hidden="true"><path class="ln" d="M1 8h6.500M18.500 8H25M4 5.500v5M22 5.500v5" /><circle class="dt" cx="13" cy="8" r="4.600" /></svg>onthedot</a>`;
}

function Side() {
  const data = overview.value;
  const bad = data?.hour?.failed ?? 0;
  /** @param {string[]} page */
  const entry = ([
    view,
    path,
    icon,
    text,
  ]) => html`<li><a href=${`#${path}`} aria-current=${current(view)} title=${text}><${Icon} name=${icon} /><span class="t">${text}</span>
    ${view === "dead_letters" && bad > 0 && html`<span class="count bad">${compact(bad)}<span class="vh"> failed in the last hour</span></span>`}</a></li>`;
  return html`<nav class="side" aria-label="Main"><${Brand} />
    <div class="stage"><span><strong>${data?.stage ?? "…"}</strong></span></div>
    <ul class="nav">${PAGES.map((page) => (page ? entry(page) : html`<li class="gap" aria-hidden="true"></li>`))}</ul>
    <div class="foot"><dl><dt>Tenant</dt><dd class="cut">${data?.tenant ?? "–"}</dd><dt>Role</dt><dd>${data?.role ?? "–"}</dd><dt>Engine</dt><dd>${data ? `${data.engine} ${data.version}` : "–"}</dd></dl>
      <button type="button" class="btn quiet small signout" onClick=${() => signOut()}><${Icon} name="key" />Sign out</button></div></nav>`;
}

/** Seconds since the last tick, by the clock of the server; null when there was none. */
export function tickAge() {
  const last = overview.value?.last_tick;
  return last ? Math.max(0, (now.value - ms(last)) / 1000) : null;
}

const LATE_SECONDS = 180;
const isLate = (age) => age === null || age >= LATE_SECONDS;

function Top({ onFind }) {
  const age = tickAge();
  return html`<header class="top"><${Brand} narrow />
    <button class="find" type="button" onClick=${onFind}><${Icon} name="search" /><span>Search jobs, pages and actions</span><kbd aria-hidden="true">Ctrl K</kbd></button>
    <div class="right">${overview.value && html`<span class=${cls("pulse", isLate(age) && "t-fail")}><${TickLine} age=${age ?? NaN} /><span>${age === null ? "no tick yet" : `tick ${wholeDuration(age * 1000)} ago`}</span></span>`}
      <span class="clock" title=${utcText(now.value)}><strong>${clock(now.value)}</strong> ${zoneName.value}</span>
      <button type="button" class="btn quiet icon themed" aria-label="Light or dark" title="Light or dark (T)" onClick=${toggleTheme}><${Icon} name="theme" /></button>
      <${Acts}><${ButtonLink} href="#/new" icon="plus" hotkey="N"><span class="t">New job</span><//><//></div></header>`;
}

function TabBar({ onMore }) {
  return html`<nav class="tabbar" aria-label="Main, phone"><ul>
    ${TABS.map(([view, path, icon, text]) => html`<li><a href=${`#${path}`} aria-current=${current(view)}><${Icon} name=${icon} />${text}</a></li>`)}
    <li><button type="button" onClick=${onMore}><${Icon} name="menu" />More</button></li></ul></nav>`;
}

// The keyboard table.

const ACTIONS = new Set(["new job", "bulk actions", "run now", "pause or resume", "edit"]);

function Help({ onClose }) {
  const id = useId();
  const shown = (what) => mayAct.value || !ACTIONS.has(what);
  return html`<${Dialog} titleId=${id} className="help" onClose=${onClose}><div class="pin"><h2 id=${id}>Keyboard</h2><${Button} data-first small kind="quiet" hotkey="Esc" onClick=${onClose}>Close<//></div>
    <div class="keys" tabindex="0" role="group" aria-label="Keys">${KEYS.map(
      ([group, keys]) => html`<section><h3>${group}</h3><dl>
      ${keys.filter(([, what]) => shown(what)).map(([names, what]) => html`<div><dt>${names.map((name) => html`<kbd>${name}</kbd>`)}</dt><dd>${what}</dd></div>`)}</dl></section>`,
    )}</div>
    <div class="pfoot always"><label class="switch"><input type="checkbox" checked=${singleKeys.value} onChange=${(event) => setSingleKeys(event.target.checked)} /> Single-key shortcuts. When they are off, only Ctrl K and Esc work.</label></div><//>`;
}
