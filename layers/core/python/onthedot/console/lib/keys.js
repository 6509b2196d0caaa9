// @ts-check
// The keyboard. The layer on top gets a key first: a dialog covers the page under it.
import { signal, useLayoutEffect, useRef } from "./html.js";

const KEPT = "onthedot.keys";

/**
 * Every key, as the help shows it: [group, [[keys, what it does]]].
 * @type {[string, [string[], string][]][]}
 */
export const KEYS = [
  [
    "Everywhere",
    [
      [["Ctrl", "K"], "search, go, act"],
      [["/"], "filter this list"],
      [["N"], "new job"],
      [["?"], "these keys"],
      [["Esc"], "back, close"],
      [["T"], "light or dark"],
      [["U"], "local time or UTC"],
    ],
  ],
  [
    "Go to",
    [
      [["G", "O"], "overview"],
      [["G", "J"], "jobs"],
      [["G", "F"], "workflows"],
      [["G", "S"], "schedule"],
      [["G", "D"], "dead letters"],
      [["G", "W"], "workers"],
      [["G", "Q"], "queues"],
      [["G", "G"], "gates"],
    ],
  ],
  [
    "In a list",
    [
      [["J", "K"], "down, up"],
      [["↵"], "open"],
      [["X"], "select"],
      [["Shift", "X"], "select a range"],
      [["A"], "all that match"],
      [["B"], "bulk actions"],
      [["[", "]"], "page back, next"],
    ],
  ],
  [
    "On a job",
    [
      [["W"], "why"],
      [["R"], "run now"],
      [["P"], "pause or resume"],
      [["E"], "edit"],
      [["←", "→"], "run before, after"],
      [["C"], "copy as CLI"],
      [["Y"], "copy link"],
    ],
  ],
];

/** Whether single keys act. Speech input and some hands need them off; the help has the switch. */
export const singleKeys = signal(read());

function read() {
  try {
    return localStorage.getItem(KEPT) !== "0";
  } catch {
    return true;
  }
}

export function setSingleKeys(on) {
  singleKeys.value = on;
  try {
    localStorage.setItem(KEPT, on ? "1" : "0");
  } catch {
    // The choice lasts until the page is loaded again.
  }
}

const layers = [];
let first = null;
let firstAt = 0;

/**
 * Act on keys while the component is shown: useKeys({"j": down, "shift+x": range, "g o": home, "ctrl+k": open}).
 * A function that returns false has not used the key. With `modal`, layers below get nothing.
 */
export function useKeys(bindings, { modal = false } = {}) {
  const current = useRef(bindings);
  current.current = bindings;
  useLayoutEffect(() => {
    const layer = { current, modal };
    layers.push(layer);
    return () => layers.splice(layers.indexOf(layer), 1);
  }, [modal]);
}

const isTyping = (target) =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    (target.matches("input, select, textarea") &&
      !target.matches("input[type=checkbox], input[type=radio], input[type=range]")));

function nameOf(event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const parts = [];
  if (event.ctrlKey || event.metaKey) parts.push("ctrl");
  if (event.altKey) parts.push("alt");
  // A sign such as ? needs Shift on most keyboards: only letters and named keys tell it apart.
  if (event.shiftKey && (event.key.length > 1 || /[a-z]/i.test(event.key))) parts.push("shift");
  return [...parts, key].join("+");
}

function use(name, event) {
  for (const layer of layers.toReversed()) {
    const act = layer.current.current[name];
    if (act && act(event) !== false) {
      event.preventDefault();
      return true;
    }
    if (layer.modal) return false;
  }
  return false;
}

addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.isComposing) return;
  const name = nameOf(event);
  const single = !name.includes("ctrl+") && !name.includes("alt+") && event.key.length === 1;
  if (single && (isTyping(event.target) || !singleKeys.value)) return;
  if (isTyping(event.target) && !["Escape"].includes(event.key) && !name.startsWith("ctrl+")) return;
  const pair = first && Date.now() - firstAt < 1500 ? `${first} ${name}` : null;
  first = null;
  if (pair && use(pair, event)) return;
  if (name === "g" && layers.some((layer) => Object.keys(layer.current.current).some((key) => key.startsWith("g ")))) {
    [first, firstAt] = [name, Date.now()];
    return;
  }
  use(name, event);
});
