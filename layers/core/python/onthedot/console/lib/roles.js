// What the role of the token may do. A viewer sees no actions.
import { computed } from "./html.js";
import { hasOverview, overview } from "./session.js";

/** "admin", "operator", "viewer" …, or null while it is not known. */
export const role = computed(() => overview.value?.role ?? null);

/** Whether actions are shown. An API that does not tell the role refuses by itself what is not allowed. */
export const mayAct = computed(() => ["operator", "admin"].includes(role.value) || hasOverview.value === false);

export const isAdmin = computed(() => role.value === "admin");

/** Render the children for those who may act only: <${Acts}>…<//>. */
export const Acts = ({ children }) => (mayAct.value ? children : null);
