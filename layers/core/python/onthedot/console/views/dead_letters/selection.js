// What the reader chose: whole groups, and single runs beside them.
/** groups: {key: {filter, count, label}}; runs: Set of ids of executions. */
export const NOTHING = { groups: {}, runs: new Set() };

export const isNothing = ({ groups, runs }) => !Object.keys(groups).length && !runs.size;

/** Choose or leave a group. Its single runs are part of it. */
export function toggleGroup(chosen, key, group, runIds = []) {
  const { [key]: had, ...groups } = chosen.groups;
  const runs = new Set([...chosen.runs].filter((id) => !runIds.includes(id)));
  return { groups: had ? groups : { ...groups, [key]: group }, runs };
}

/** Choose or leave one run. When its group is chosen, the other runs that are shown stay chosen. */
export function toggleRun(chosen, id, key, shown) {
  const { [key]: had, ...groups } = chosen.groups;
  const runs = new Set(chosen.runs);
  if (had) shown.filter((each) => each !== id).forEach((each) => runs.add(each));
  else if (!runs.delete(id)) runs.add(id);
  return { groups, runs };
}

/** The number of runs that are chosen, as far as it is known. */
export const sizeOf = ({ groups, runs }) => Object.values(groups).reduce((sum, each) => sum + each.count, runs.size);

/** The bodies of the calls that run them again: one for each group, and one for the single runs. */
export function bodies({ groups, runs }, base) {
  const whole = Object.values(groups).map((group) => clean({ ...base, ...group.filter }));
  return runs.size ? [...whole, { ids: [...runs] }] : whole;
}

const clean = (body) => Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined && value !== ""));
