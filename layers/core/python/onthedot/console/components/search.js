// @ts-check
// A field that filters by the start of a name, as one types. The name is in the URL.
import { html, useEffect, useLayoutEffect, useRef, useState } from "../lib/html.js";
import { setQuery } from "../lib/router.js";
import { Icon } from "./marks.js";

const WAIT_MS = 150;

/** The field keeps the typed text while answers come. `onFilter` is called with the name after each change of the URL. */
export function NameSearch({ name = "", label, onFilter }) {
  const [text, setText] = useState(name);
  const timer = useRef(null);
  const typed = useRef(name);
  useLayoutEffect(() => {
    // The URL changed by other means: a link, or the way back.
    if (name === typed.current) return;
    clearTimeout(timer.current);
    setText((typed.current = name));
  }, [name]);
  const type = (event) => {
    const value = event.target.value;
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      typed.current = value.trim();
      setQuery({ name: typed.current || null, cursor: null });
      onFilter?.(typed.current);
    }, WAIT_MS);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return html`<div class="search"><${Icon} name="search" />
    <input class="input" data-filter type="search" aria-label=${label} placeholder=${label} autocomplete="off" spellcheck=${false} maxlength="255" value=${text} onInput=${type} /><kbd aria-hidden="true">/</kbd></div>`;
}
