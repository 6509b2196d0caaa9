// @ts-check
// The frame of a chart: drawn at the width that is found, a sentence as its label, and a table for those who want one.
import { cls, html, useLayoutEffect, useRef, useState } from "../lib/html.js";

/**
 * The width of an element, kept up to date: [the ref of the element, its width].
 * @returns {[{current: any}, number]}
 */
export function useWidth(initial = 600) {
  const place = useRef(null);
  const [width, setWidth] = useState(initial);
  useLayoutEffect(() => {
    const measure = () => place.current && setWidth(Math.max(120, Math.floor(place.current.clientWidth)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return [place, width];
}

/** An SVG chart: `draw(width)` returns its content. table: {head: [...], rows: [[...]]}. `label` is a whole sentence. */
export function Figure({ label, height, draw, table, className }) {
  const [place, width] = useWidth();
  return html`<figure class=${cls("figure", className)}><div ref=${place}>
    <svg class="chart" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${label}>${draw(width)}</svg></div>
    ${table && html`<${Alternative} label=${label} table=${table} />`}</figure>`;
}

/** The same data as a table, folded. */
export function Alternative({ label, table }) {
  const [open, setOpen] = useState(false);
  return html`<div class="alt"><button type="button" class="btn quiet small" aria-expanded=${String(open)} onClick=${() => setOpen(!open)}>${open ? "Hide table" : "View as table"}</button>
    ${
      open &&
      html`<div class="scroll alt-table" tabindex="0" role="region" aria-label=${`Table: ${label}`}><table class="tbl"><caption class="vh">${label}</caption>
      <thead><tr>${table.head.map((each, place) => html`<th scope="col" class=${place ? "num" : ""}>${each}</th>`)}</tr></thead>
      <tbody>${table.rows.map((row) => html`<tr>${row.map((cell, place) => html`<td class=${place ? "num" : ""}>${cell}</td>`)}</tr>`)}</tbody></table></div>`
    }</div>`;
}

/** Three or four round steps from 0 to at least `top`: [0, 200, 400, 600]. */
export function steps(top) {
  if (!(top > 0)) return [0, 1];
  const rough = top / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(
    1,
    [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough),
  );
  const whole = Number.isInteger(step) ? step : Math.ceil(step);
  return Array.from({ length: Math.ceil(top / whole) + 1 }, (_, index) => index * whole);
}

/** Grid lines and their figures. `y(value)` gives the place. */
export const Grid = ({ values, y, left, right, text = String }) =>
  values.map(
    (value) =>
      html`<path class=${value === 0 ? "base" : "gr"} d=${`M${left} ${y(value)}H${right}`} /><text class="e" x=${left - 8} y=${y(value) + 4}>${text(value)}</text>`,
  );
