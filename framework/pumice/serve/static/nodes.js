// The heat map of nodes on a canvas, and the same as a table.
import { amount, find, get, latest, link, make, pager, percent } from "./dom.js";

const LEVELS = 5;
const SIZES = [34, 28, 24, 20, 16, 14, 12, 10, 8, 7, 6];
const HIGHEST = 430;
const PAGE = 50;
const request = latest();
let data = null;
let unit = "milli";
let open = () => {};
let at = 0;
let size = SIZES[0];
let columns = 1;
let offset = 0;

export async function drawNodes(cycle, resource, unitOf, show) {
  const found = await request(() => get("nodes", { cycle, resource }));
  if (!found) return;
  data = found;
  unit = unitOf(data.resource);
  data.closedSet = new Set(data.closed);
  open = show;
  at = Math.min(at, Math.max(0, data.names.length - 1));
  legend();
  draw();
  describe();
  if (find("#node-table").open) table();
}

const part = (row) => (data.allocatable[row] ? data.used[row] / data.allocatable[row] : null);
const levelOf = (value) => Math.min(LEVELS - 1, Math.floor(value * LEVELS));

function legend() {
  const parts = Array.from({ length: LEVELS }, (_, level) =>
    make("span", {}, make("i", { class: `heat-key level-${level}` }), `${(level * 100) / LEVELS}–${((level + 1) * 100) / LEVELS} %`),
  );
  find("#nodes-legend").replaceChildren(...parts);
  find("#nodes-title").textContent = `Nodes: ${data.total}, by use of ${data.resource}`;
}

function draw() {
  const canvas = find("#heat");
  const width = canvas.parentElement.clientWidth - 2 * parseFloat(getComputedStyle(canvas.parentElement).paddingLeft);
  const count = data.names.length;
  const fits = (one) => Math.ceil(count / Math.max(1, Math.floor(width / one))) * one <= HIGHEST;
  size = SIZES.find(fits) ?? SIZES[SIZES.length - 1];
  columns = Math.max(1, Math.floor(width / size));
  const height = Math.max(1, Math.ceil(count / columns)) * size;
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(name).trim();
  const paint = {
    heat: Array.from({ length: LEVELS }, (_, level) => colour(`--heat-${level}`)),
    cell: colour("--cell"), line: colour("--muted"), cross: colour("--cross"), focus: colour("--focus"),
  };
  for (let row = 0; row < count; row += 1) drawCell(pen, row, paint);
  if (count) outline(pen, paint);
}

function drawCell(pen, row, paint) {
  const gap = size > 10 ? 2 : 1;
  const x = (row % columns) * size;
  const y = Math.floor(row / columns) * size;
  const side = size - gap;
  pen.fillStyle = paint.cell;
  pen.fillRect(x, y, side, side);
  const value = part(row);
  if (value !== null) {
    const high = Math.max(value > 0 ? 1 : 0, Math.round(Math.min(1, value) * side));
    pen.fillStyle = paint.heat[levelOf(value)];
    pen.fillRect(x, y + side - high, side, high);
  } else {
    pen.fillStyle = paint.line;
    pen.fillRect(x + side / 4, y + side / 2, side / 2, 1);
  }
  if (size >= 10) {
    pen.strokeStyle = paint.line;
    pen.lineWidth = 1;
    pen.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
  }
  if (data.closedSet.has(row)) {
    pen.strokeStyle = paint.cross;
    pen.lineWidth = size > 10 ? 2 : 1;
    pen.beginPath();
    pen.moveTo(x + 1, y + 1);
    pen.lineTo(x + side - 1, y + side - 1);
    pen.moveTo(x + side - 1, y + 1);
    pen.lineTo(x + 1, y + side - 1);
    pen.stroke();
  }
}

function outline(pen, paint) {
  if (document.activeElement !== find("#heat")) return;
  pen.strokeStyle = paint.focus;
  pen.lineWidth = 3;
  pen.strokeRect((at % columns) * size + 0.5, Math.floor(at / columns) * size + 0.5, size - 2, size - 2);
}

function sentence(row) {
  const value = part(row);
  const closed = data.closedSet.has(row) ? "; takes no tasks" : "";
  if (value === null) return `${data.names[row]}: has no ${data.resource}${closed}`;
  const releasing = data.releasing[row] ? `, ${amount(data.releasing[row], unit)} being released` : "";
  return `${data.names[row]}: ${amount(data.used[row], unit)} of ${amount(data.allocatable[row], unit)} ${data.resource} in use (${percent(value)})${releasing}${closed}`;
}

function describe() {
  const text = data.names.length ? sentence(at) : "there are no nodes";
  find("#heat-now").textContent = text;
}

function move(row) {
  if (row < 0 || row >= data.names.length) return;
  at = row;
  draw();
  describe();
}

function table() {
  const rows = data.names.slice(offset, offset + PAGE).map((name, index) => {
    const row = offset + index;
    const value = part(row);
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, link(name, () => open(name))),
      make("td", {}, amount(data.used[row], unit)),
      make("td", {}, amount(data.allocatable[row], unit)),
      make("td", {}, `${value === null ? "–" : percent(value)}${data.closedSet.has(row) ? ", takes no tasks" : ""}`),
    );
  });
  find("#node-table tbody").replaceChildren(...rows);
  const turn = (next) => {
    offset = next;
    table();
  };
  pager(find("#node-table .pager"), { total: data.names.length, offset, count: rows.length }, PAGE, turn);
}

export function startNodes() {
  const canvas = find("#heat");
  const rowAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left) / size);
    const row = Math.floor((event.clientY - box.top) / size) * columns + column;
    return column < columns && row < data.names.length ? row : -1;
  };
  canvas.addEventListener("mousemove", (event) => data && move(rowAt(event)));
  canvas.addEventListener("click", (event) => data && rowAt(event) >= 0 && open(data.names[rowAt(event)]));
  canvas.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
    if (!data || !data.names.length) return;
    if (event.key in steps) move(at + steps[event.key]);
    else if (event.key === "Home") move(0);
    else if (event.key === "End") move(data.names.length - 1);
    else if (event.key === "Enter" || event.key === " ") open(data.names[at]);
    else return;
    event.preventDefault();
  });
  for (const name of ["focus", "blur"]) canvas.addEventListener(name, () => data && draw());
  find("#node-table").addEventListener("toggle", () => data && table());
  new ResizeObserver(() => data && draw()).observe(find("#nodes"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => data && draw());
}
