// @ts-check
// Hash routes. Each filter is in the URL, so a link is a view.
import { signal } from "./html.js";

/** Path, name of the view, the page of the menu that is current, and the key after G. */
export const ROUTES = [
  { path: "/", view: "overview", load: () => import("../views/overview.js") },
  { path: "/jobs", view: "jobs", load: () => import("../views/jobs.js") },
  { path: "/jobs/:id", view: "job", menu: "jobs", load: () => import("../views/job.js") },
  { path: "/workflows", view: "workflows", load: () => import("../views/workflows.js") },
  { path: "/workflows/:id", view: "workflow", menu: "workflows", load: () => import("../views/workflow.js") },
  { path: "/schedule", view: "schedule", load: () => import("../views/schedule.js") },
  { path: "/dead-letters", view: "dead_letters", load: () => import("../views/dead_letters.js") },
  { path: "/queues", view: "queues", load: () => import("../views/queues.js") },
  { path: "/workers", view: "workers", load: () => import("../views/workers.js") },
  { path: "/workers/:id", view: "workers", load: () => import("../views/workers.js") },
  { path: "/gates", view: "gates", load: () => import("../views/gates.js") },
  { path: "/gates/:name", view: "gates", load: () => import("../views/gates.js") },
  { path: "/new", view: "new", menu: "jobs", load: () => import("../views/new.js") },
];

const isRoute = (hash) => hash === "" || hash.startsWith("#/") || hash.startsWith("#?");

/** The place where the reader is: {view, menu, path, params, query, load}. `view` is null for an unknown path. */
export const route = signal(parse(location.hash));

addEventListener("hashchange", () => {
  if (isRoute(location.hash)) route.value = parse(location.hash);
});

/** Return the route of a hash such as `#/jobs?status=FAILED`. */
export function parse(hash) {
  const text = isRoute(hash) ? hash.slice(1) : "";
  const [path, query = ""] = text.split(/\?(.*)/s);
  const clean = path.replace(/\/+$/, "") || "/";
  const filters = Object.fromEntries(new URLSearchParams(query));
  for (const known of ROUTES) {
    const params = match(known.path, clean);
    if (params) return { ...known, menu: known.menu ?? known.view, path: clean, params, query: filters };
  }
  return { view: null, menu: null, path: clean, params: {}, query: filters, load: null };
}

function match(pattern, path) {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return null;
  const params = {};
  for (const [place, part] of wanted.entries()) {
    if (part.startsWith(":")) params[part.slice(1)] = decoded(given[place]);
    else if (part !== given[place]) return null;
  }
  return params;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A link: href("/jobs", {status: "FAILED"}). Filters that are null or "" are left out. */
export function href(path, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(kept).toString();
  return `#${path}${text ? `?${text}` : ""}`;
}

export const jobHref = (id, query) => href(`/jobs/${encodeURIComponent(id)}`, query);
export const workflowHref = (id, query) => href(`/workflows/${encodeURIComponent(id)}`, query);

/** Go to a place. With `replace`, the place before is not kept in the history. */
export function go(path, query = {}, { replace = false } = {}) {
  const hash = href(path, query);
  if (!replace) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, "", hash);
  route.value = parse(hash);
}

/** Change some filters of this view; null removes one. Typing into a filter should `replace`. */
export function setQuery(changes, { replace = true } = {}) {
  go(route.value.path, { ...route.value.query, ...changes }, { replace });
}
