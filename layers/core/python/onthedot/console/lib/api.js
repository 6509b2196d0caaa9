// @ts-check
// Calls to the API, relative to the page, so that they work under a stage path and under a domain of one's own.
import { signOut, token } from "./session.js";

/** An answer that is not a success. `status` is 0 when there was no answer at all. */
export class ApiError extends Error {
  constructor(status, code, message, { details = [], requestId = null, retryAfter = null } = {}) {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.details = details;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }

  /** The messages by field: {"cron": "has 4 fields"}. */
  get byField() {
    return Object.fromEntries(this.details.map(({ field, message }) => [field, message]));
  }
}

/** The URL before `/v1`, without a slash at the end. */
export const baseUrl = () => new URL(".", document.baseURI.replace(/#.*$/, "")).href.replace(/\/$/, "");

/** `v1/jobs?name=a`: a path with its query; parameters that are null, undefined or "" are left out. */
export function address(path, query = {}) {
  const kept = Object.entries(query ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(kept).toString();
  return text ? `${path}?${text}` : path;
}

/**
 * @typedef {object} Options
 * @property {object} [query]
 * @property {unknown} [body] sent as JSON
 * @property {Record<string, string>} [headers]
 * @property {AbortSignal} [signal]
 * @property {string | null} [etag] sent as If-None-Match
 */

/**
 * Send a request to `/v1/…`. Return {status, data, etag}; `status` may be 304, then `data` is null. Throw ApiError.
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 */
export async function call(method, path, { query, body, headers = {}, signal, etag } = {}) {
  /** @type {Record<string, string>} */
  const sent = { Accept: "application/json", ...headers };
  const used = token.value;
  if (used) sent.Authorization = `Bearer ${used}`;
  if (body !== undefined) sent["Content-Type"] = "application/json";
  if (etag) sent["If-None-Match"] = etag;
  const url = `${baseUrl()}/v1/${address(path.replace(/^\/(v1\/)?/, ""), query)}`;
  let response;
  try {
    response = await fetch(url, {
      method,
      headers: sent,
      signal,
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "no_answer", "The API is not responding.");
  }
  if (response.status === 304) return { status: 304, data: null, etag };
  const data = await response.json().catch(() => null);
  if (!response.ok) throw refused(response, data, used);
  return { status: response.status, data, etag: response.headers.get("ETag") };
}

function refused(response, data, used) {
  const { code = "error", message = `HTTP ${response.status}`, details = [] } = data?.error ?? {};
  // An answer to an older token says nothing about the one that took its place.
  if (response.status === 401 && used === token.value) signOut(used ? "rejected" : "");
  return new ApiError(response.status, code, message, {
    details: details ?? [],
    requestId: response.headers.get("X-Request-Id"),
    retryAfter: Number(response.headers.get("Retry-After")) || null,
  });
}

const dataOf = async (promise) => (await promise).data;

/** @type {(path: string, query?: object, options?: Options) => Promise<any>} */
export const get = (path, query, options) => dataOf(call("GET", path, { ...options, query }));
/** @typedef {(path: string, body?: unknown, options?: Options) => Promise<any>} Send */

/** @type {Send} */
export const post = (path, body = {}, options = {}) => dataOf(call("POST", path, { ...options, body }));
/** @type {Send} */
export const put = (path, body = {}, options = {}) => dataOf(call("PUT", path, { ...options, body }));
/** @type {Send} */
export const patch = (path, body = {}, options = {}) => dataOf(call("PATCH", path, { ...options, body }));
/** @type {(path: string, options?: Options) => Promise<any>} */
export const del = (path, options) => dataOf(call("DELETE", path, options));
