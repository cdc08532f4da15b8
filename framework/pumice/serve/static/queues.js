// The tree of queues as a table with bars.
import { find, get, hidden, latest, link, make, percent } from "./dom.js";

const request = latest();
const folded = new Set();
let shown = null;

export async function drawQueues(cycle, resource, choose) {
  const data = await request(() => get("queues", { cycle, resource }));
  if (data) {
    shown = { data, choose };
    draw();
  }
}

function draw() {
  const { data, choose } = shown;
  find("#queues-amount").textContent = `${data.resource} of ${data.allocatable_text}`;
  const parents = new Set(data.rows.filter((row) => row.depth).map((row) => row.parent));
  const rows = [];
  let below = Infinity;
  for (const row of data.rows) {
    if (row.depth > below) continue;
    below = folded.has(row.queue) ? row.depth : Infinity;
    rows.push(tableRow(row, data, parents, choose));
  }
  find("#queues tbody").replaceChildren(...rows);
  const more = find("#queues .more");
  more.hidden = data.rows.length >= data.total;
  more.textContent = `${data.rows.length} of ${data.total} queues are shown`;
}

function tableRow(row, data, parents, choose) {
  const isTree = parents.size > 0;
  const isParent = parents.has(row.queue);
  const name = make("div", { class: "queue-name" }, isParent ? fold(row) : isTree ? make("span", { class: "leaf" }) : null, link(row.queue, () => choose(row.queue), `Show the jobs of queue ${row.queue}`));
  name.style.paddingLeft = `${row.depth * 0.9}rem`;
  const closed = row.state === "Open" ? null : make("div", { class: "muted small" }, row.state);
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, hidden(row.depth ? `level ${row.depth + 1}: ` : ""), name, closed),
    make("td", {}, bar(row, data.scale), make("div", { class: "small" }, sentence(row))),
    make("td", {}, ...(row.share === null ? ["–"] : [percent(row.share), make("div", { class: "muted small" }, row.share_of.split("/").pop())])),
    make("td", { class: "wide" }, `${row.waiting} of ${row.jobs}`),
  );
}

function fold(row) {
  const open = !folded.has(row.queue);
  const toggle = () => {
    if (open) folded.add(row.queue);
    else folded.delete(row.queue);
    draw();
  };
  return make("button", { type: "button", class: "fold", "aria-expanded": String(open), "aria-label": `Queues below ${row.queue}`, click: toggle }, open ? "▾" : "▸");
}

function sentence(row) {
  const { texts } = row;
  const parts = [`${texts.allocated} allocated`, `${texts.request} requested`];
  if (texts.deserved !== undefined) parts.push(`${texts.deserved} deserved`);
  if (texts.fair_share !== undefined && texts.fair_share !== texts.deserved) parts.push(`fair share ${texts.fair_share}`);
  if (texts.limit !== undefined) parts.push(`limit ${texts.limit}`);
  return parts.join(", ");
}

function bar(row, scale) {
  const place = make("div", { class: "bar", "aria-hidden": "true" });
  const width = (value) => `${scale ? Math.min(100, (100 * value) / scale) : 0}%`;
  for (const name of ["request", "allocated"]) {
    const part = make("i", { class: name });
    part.style.width = width(row.amounts[name]);
    place.append(part);
  }
  for (const name of ["deserved", "limit"]) {
    if (row.amounts[name] === null || row.amounts[name] > scale) continue;
    const mark = make("i", { class: name });
    mark.style.left = width(row.amounts[name]);
    place.append(mark);
  }
  return place;
}
