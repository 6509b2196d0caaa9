// @ts-check
// Preact, htm and signals under one roof: every module imports them from here.
import htm from "../vendor/htm.js";
import { h } from "../vendor/preact.js";

export { h, render, Fragment, createRef, Component } from "../vendor/preact.js";
export { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "../vendor/preact-hooks.js";
export {
  batch,
  computed,
  effect,
  signal,
  untracked,
  useComputed,
  useSignal,
  useSignalEffect,
} from "../vendor/signals.js";

/** Markup as a tagged template. */
export const html = htm.bind(h);

/** Join class names; what is falsy is left out. */
export const cls = (...names) => names.filter(Boolean).join(" ");
