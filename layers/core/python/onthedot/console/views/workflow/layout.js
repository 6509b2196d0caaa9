// @ts-check
// Places of a graph: dagre orders the jobs of each step; then the critical path is pulled to one straight line.
import { Graph, layout } from "../../vendor/dagre.js";

const NODE = { width: 152, height: 46 };
const [WIDEST, GAP, LEAST, MOST, CORNER] = [208, 18, 44, 96, 8];

/** {width, height, node: {width, height}, nodes: Map(key → {x, y}), edges: [{from, to, path, tip}]}; x and y are the middle of a node. */
export function layoutOf(model, available) {
  const graph = new Graph({ multigraph: false })
    .setGraph({ rankdir: "LR", nodesep: GAP, ranksep: 50, edgesep: 12 })
    .setDefaultEdgeLabel(() => ({}));
  for (const job of model.jobs) graph.setNode(job.key, { ...NODE });
  for (const job of model.jobs)
    for (const parent of job.parents)
      if (model.byKey.has(parent))
        graph.setEdge(parent, job.key, { weight: job.critical && model.byKey.get(parent).critical ? 12 : 1 });
  layout(graph);
  const columns = [...new Set(graph.nodes().map((key) => Math.round(graph.node(key).x)))].sort(
    (one, other) => one - other,
  );
  const column = (x) => columns.findIndex((each) => Math.abs(each - x) < 2);
  const shift = shifts(graph, model, columns, column);
  const gaps = Math.max(1, columns.length - 1);
  const wide = Math.min(WIDEST, Math.max(NODE.width, Math.floor((available - 4 - gaps * LEAST) / columns.length)));
  const gap = Math.min(MOST, Math.max(LEAST, (available - columns.length * wide - 4) / gaps));
  const x = (place) => 2 + wide / 2 + place * (wide + gap);
  const nodes = new Map(
    graph.nodes().map((key) => {
      const { x: at, y } = graph.node(key);
      return [key, { x: x(column(at)), y: y + shift[column(at)], column: column(at) }];
    }),
  );
  const top = Math.min(...[...nodes.values()].map((node) => node.y)) - NODE.height / 2 - 2;
  for (const node of nodes.values()) node.y -= top;
  const edges = graph
    .edges()
    .map(({ v, w }) => edge(v, w, nodes, wayOf(graph.edge(v, w), column, shift, top), x, gap, wide));
  const height = Math.max(...[...nodes.values()].map((node) => node.y)) + NODE.height / 2 + 4;
  return { width: x(columns.length - 1) + wide / 2 + 2, height, node: { ...NODE, width: wide }, nodes, edges };
}

/** How far each column moves so that the critical path has one height. A column next to it moves with the one before. */
function shifts(graph, model, columns, column) {
  const heights = columns.map(() => null);
  const path = model.critical_path.filter((key) => graph.hasNode(key));
  for (const key of path) heights[column(graph.node(key).x)] = graph.node(key).y;
  for (const [place, key] of path.entries()) {
    const way = place && graph.edge(path[place - 1], key);
    for (const point of (way && way.points) || [])
      if (column(point.x) >= 0 && heights[column(point.x)] === null) heights[column(point.x)] = point.y;
  }
  const base = Math.max(0, ...heights.filter((height) => height !== null));
  let before = 0;
  return heights.map((height) => (before = height === null ? before : base - height));
}

/** The heights at which an edge passes the columns between its ends: [[column, y]]. */
function wayOf({ points = [] }, column, shift, top) {
  return points
    .slice(1, -1)
    .filter((point) => column(point.x) >= 0)
    .map((point) => [column(point.x), point.y + shift[column(point.x)] - top]);
}

/** Straight lines with round corners: each change of height is in the middle of the gap before a column. */
function edge(from, to, nodes, way, x, gap, wide) {
  const [start, end] = [nodes.get(from), nodes.get(to)];
  let path = `M${start.x + wide / 2} ${start.y}`;
  let y = start.y;
  for (const [place, height] of [
    ...way.filter(([each]) => each > start.column && each < end.column),
    [end.column, end.y],
  ]) {
    const middle = x(place) - wide / 2 - gap / 2;
    const rise = height - y;
    if (Math.abs(rise) > 1) {
      const corner = Math.min(CORNER, Math.abs(rise) / 2);
      const sign = Math.sign(rise);
      path += `H${middle - corner}q${corner} 0 ${corner} ${sign * corner}V${height - sign * corner}q0 ${sign * corner} ${corner} ${sign * corner}`;
    }
    y = height;
  }
  const tip = end.x - wide / 2;
  return { from, to, path: `${path}H${tip - 4}`, tip: `M${tip - 5} ${end.y - 3.5}l5 3.5-5 3.500z` };
}
