// Pause, resume and delete a gate.
import { del, put } from "../../lib/api.js";
import { COPY } from "../../lib/copy_as.js";
import { go } from "../../lib/router.js";
import { confirm } from "../../components/dialog.js";
import { announce } from "../../components/toast.js";
import { waitingText } from "./words.js";

const path = (name) => `gates/${encodeURIComponent(name)}`;
const limitsOf = ({ in_flight, per_second, burst }) => ({ in_flight, per_second, burst });

/** The body that pauses or resumes: PUT replaces a gate, so it has all limits. */
export const pausedBody = (gate, paused) => ({ ...limitsOf(gate), paused });

export async function setPaused(gate, paused, refresh) {
  await act(() => put(path(gate.name), pausedBody(gate, paused)), paused ? `Gate ${gate.name} is paused` : `Gate ${gate.name} is resumed`);
  refresh();
}

export async function deleteGate(gate) {
  const waits = gate.waiting ? `${waitingText(gate)} ${gate.waiting === 1 ? "run that waits" : "runs that wait"} here, and jobs` : "Jobs";
  const yes = await confirm({ title: `Delete gate ${gate.name}?`, text: `${waits} that still name it go on without it. Its limits are gone.`, action: "Delete gate", danger: true, forms: COPY.deleteGate(gate.name) });
  if (yes && (await act(() => del(path(gate.name)), `Gate ${gate.name} is deleted`))) go("/gates");
}

async function act(send, done) {
  try {
    await send();
    announce(done);
    return true;
  } catch (error) {
    announce(error.message, { tone: "fail" });
    return false;
  }
}
