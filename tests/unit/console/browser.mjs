// What the pure modules of the console expect of a browser, for Node.
const interval = globalThis.setInterval;
globalThis.setInterval = (...given) => interval(...given).unref();
globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {}, baseURI: "https://api.example.com/prod/console#/jobs" };
const kept = new Map();
const storage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) };
for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(globalThis, name, { value: storage, configurable: true });

/** A module of the console: `await module("lib/time.js")`. */
export const module = (path) => import(new URL(`../../../layers/core/python/onthedot/console/${path}`, import.meta.url));
