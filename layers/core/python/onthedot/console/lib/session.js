// @ts-check
// The token of this tab, and what the API said about its owner.
import { computed, signal } from "./html.js";

const KEY = "onthedot.token";

/** The token, or "" when there is none. It lives in session storage: closing the tab forgets it. */
export const token = signal(read());

/** Why the reader is asked for a token: "" (none yet), "rejected" (the API refused it: expired, revoked or wrong). */
export const tokenState = signal("");

/** The latest answer of GET /v1/overview, or null. The shell polls it. */
export const overview = signal(null);

/** Whether the API has GET /v1/overview: null until it is known. */
export const hasOverview = signal(null);

function read() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

/** Keep a token for this tab. */
export function signIn(text) {
  const clean = text.trim().replace(/^bearer\s+/i, "");
  try {
    sessionStorage.setItem(KEY, clean);
  } catch {
    // The browser forbids storage: the token lives until the page is loaded again.
  }
  tokenState.value = "";
  token.value = clean;
}

/** Sign out. `why` is "" or "rejected". */
export function signOut(why = "") {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    // Nothing was stored.
  }
  overview.value = null;
  hasOverview.value = null;
  tokenState.value = why;
  token.value = "";
}

// What the role of the token may do. A viewer sees no actions.

/** "admin", "operator", "viewer" …, or null while it is not known. */
export const role = computed(() => overview.value?.role ?? null);

/** Whether actions are shown. An API that does not tell the role refuses by itself what is not allowed. */
export const mayAct = computed(() => ["operator", "admin"].includes(role.value) || hasOverview.value === false);

/** Render the children for those who may act only: <${Acts}>…<//>. */
export const Acts = ({ children }) => (mayAct.value ? children : null);
