// @ts-check
// Dialogs: the browser's own, so focus stays inside, the page under it is inert, and focus goes back at the end.
import { cls, html, signal, useId, useLayoutEffect, useRef } from "../lib/html.js";
import { useKeys } from "../lib/keys.js";
import { Button, CopyAs } from "./bits.js";
import { Said } from "./said.js";

/** A modal dialog. `label` or a child with the id `titleId` names it. `onClose` is called for Escape and for a click next to it. */
export function Dialog({ label, titleId, className, onClose, children }) {
  const place = useRef(null);
  useKeys({}, { modal: true });
  // Before the next key: an effect after the paint would let a fast hand type into the page.
  useLayoutEffect(() => {
    const dialog = place.current;
    const before = document.activeElement;
    dialog.showModal();
    dialog.querySelector("[autofocus], [data-first]")?.focus();
    return () => {
      dialog.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const cancel = (event) => {
    event.preventDefault();
    onClose();
  };
  const beside = (event) => event.target === place.current && onClose();
  return html`<dialog ref=${place} class=${cls("pal", className)} aria-label=${label} aria-labelledby=${titleId} onCancel=${cancel} onMouseDown=${beside}>${children}</dialog>`;
}

const asked = signal(null);

/**
 * Ask before something that cannot be taken back. Return a promise of true or false.
 * confirm({title: "Delete 2 jobs?", text, action: "Delete 2 jobs", danger: true, calls}): `calls` of lib/copy_as.js.
 */
export function confirm(question) {
  asked.value?.answer(false);
  return new Promise((resolve) => {
    asked.value = {
      ...question,
      answer: (yes) => {
        asked.value = null;
        resolve(yes);
      },
    };
  });
}

/** The place of the question; the shell has it once. */
export const ConfirmHost = () => (asked.value ? html`<${Confirm} ...${asked.value} />` : null);

function Confirm({ title, text, action, danger, calls, answer }) {
  const id = useId();
  return html`<${Dialog} titleId=${id} className="ask" onClose=${() => answer(false)}>
    <div class="pin"><h2 id=${id}>${title}</h2></div>
    <div class="ebody">${text && html`<p class="say2"><${Said} text=${text} /></p>`}${calls && html`<${CopyAs} calls=${calls} />`}</div>
    <div class="pfoot acts"><span class="r"><${Button} data-first kind="quiet" hotkey="Esc" onClick=${() => answer(false)}>Back<//>
      <${Button} kind=${danger ? "danger" : "primary"} onClick=${() => answer(true)}>${action}<//></span></div><//>`;
}
