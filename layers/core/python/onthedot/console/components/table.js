// @ts-check
// A table of rows: caption, scroll region with focus, J and K to move, X to select, Enter to open.
import { cls, html, useRef, useState } from "../lib/html.js";
import { useKeys } from "../lib/keys.js";

/**
 * columns: [{id, label, cell(row), num, className, hideLabel}]; rowKey(row) → id; caption: told to screen readers.
 * The first link in a row is its main link: J and K focus it. `selected`: a Set of ids, with onSelect(Set).
 * `selectLabel(row)` names the checkbox. `onAll`, `onBulk`, `onPage(±1)`: the keys A, B, [ and ].
 */
export function DataTable({
  columns,
  rows,
  rowKey,
  caption,
  className,
  selected,
  onSelect,
  selectLabel,
  onAll,
  onBulk,
  onPage,
  keys = true,
}) {
  const body = useRef(null);
  const [anchor, setAnchor] = useState(null);
  const ids = rows.map(rowKey);
  const mainLinks = () =>
    [...(body.current?.rows ?? [])].map((row) => row.querySelector("a, button:not([disabled])")).filter(Boolean);
  const focusedRow = () => [...(body.current?.rows ?? [])].findIndex((row) => row.contains(document.activeElement));
  const move = (step) => () => {
    const links = mainLinks();
    if (!links.length) return false;
    const at = focusedRow();
    links[at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step))]?.focus();
    return true;
  };
  const select = (index, range) => {
    if (!onSelect || index < 0) return false;
    const next = new Set(selected);
    const from = range && anchor !== null ? ids.indexOf(anchor) : index;
    const wanted = range ? true : !next.has(ids[index]);
    for (let each = Math.min(from, index); each <= Math.max(from, index); each += 1) {
      if (wanted) next.add(ids[each]);
      else next.delete(ids[each]);
    }
    setAnchor(ids[index]);
    onSelect(next);
    return true;
  };
  const bindings = keys
    ? {
        j: move(1),
        k: move(-1),
        x: () => select(focusedRow(), false),
        "shift+x": () => select(focusedRow(), true),
        a: () => onAll?.() ?? Boolean(onAll),
        b: () => onBulk?.() ?? Boolean(onBulk),
        "[": () => onPage?.(-1) ?? Boolean(onPage),
        "]": () => onPage?.(1) ?? Boolean(onPage),
      }
    : {};
  useKeys(bindings);
  const all = ids.length > 0 && ids.every((id) => selected?.has(id));
  const some = !all && ids.some((id) => selected?.has(id));
  const toggleAll = () =>
    onSelect(new Set(all ? [...selected].filter((id) => !ids.includes(id)) : [...selected, ...ids]));
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}><table class=${cls("tbl", className)}>
    <caption class="vh">${caption}</caption>
    <thead><tr>${onSelect && html`<th scope="col" class="c-sel"><label class="pick"><input type="checkbox" checked=${all} ref=${(box) => box && (box.indeterminate = some)} onChange=${toggleAll} aria-label="Select all rows of this page" /></label></th>`}
      ${columns.map((column) => html`<th scope="col" class=${cls(column.num && "num", column.className)}>${column.hideLabel ? html`<span class="vh">${column.label}</span>` : column.label}</th>`)}</tr></thead>
    <tbody ref=${body}>${rows.map(
      (row, index) => html`<tr key=${ids[index]} class=${selected?.has(ids[index]) ? "chosen" : null}>
      ${
        onSelect &&
        html`<td class="c-sel"><label class="pick"><input type="checkbox" checked=${selected.has(ids[index])} aria-label=${`Select ${selectLabel?.(row) ?? ids[index]}`}
        onClick=${(event) => select(index, event.shiftKey)} /></label></td>`
      }
      ${columns.map((column) => html`<td class=${cls(column.num && "num", column.className)}>${column.cell(row)}</td>`)}</tr>`,
    )}</tbody></table></div>`;
}
