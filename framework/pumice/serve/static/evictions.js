// Evictions of all cycles: how many in each, and who for whom.
import { find, get, latest, link, make, pager } from "./dom.js";

const PAGE = 30;
const request = latest();
let offset = 0;

export async function drawEvictions(cycle, cycles, show, jump) {
  bars(cycle, cycles, jump);
  const data = await request(() => get("evictions", { offset, limit: PAGE }));
  if (!data) return;
  find("#evictions-title").textContent = `Evictions: ${data.tasks}`;
  const items = data.rows.map((row) => item(row, cycle, show, jump));
  find(".timeline").replaceChildren(...(items.length ? items : [make("li", { class: "muted" }, "Nothing was evicted.")]));
  const turn = (next) => {
    offset = next;
    drawEvictions(cycle, cycles, show, jump);
  };
  pager(find("#evictions .pager"), { total: data.total, offset: data.offset, count: data.rows.length }, PAGE, turn);
}

function bars(cycle, cycles, jump) {
  const most = Math.max(1, ...cycles.map((one) => one.evicted));
  const place = find("#per-cycle");
  place.hidden = find("#per-cycle-title").hidden = cycles.length < 2;
  place.replaceChildren(
    ...cycles.map((one) => {
      const fill = make("i");
      fill.style.height = `${(100 * one.evicted) / most}%`;
      const text = `Cycle ${one.cycle}: ${one.evicted} evicted`;
      return make("button", { type: "button", title: text, "aria-label": text, "aria-current": String(one.cycle === cycle), click: () => jump(one.cycle) }, fill);
    }),
  );
}

function item(row, cycle, show, jump) {
  const tasks = row.count === 1 ? "1 task" : `${row.count} tasks`;
  const claimant = row.for ? [" for ", link(row.for, () => show(row.for, row.cycle)), row.for_queue ? ` (${row.for_queue})` : ""] : [" for no job"];
  return make(
    "li",
    { class: row.cycle === cycle ? "present" : null },
    link(`cycle ${row.cycle}`, () => jump(row.cycle)),
    ": ",
    link(row.job, () => show(row.job, row.cycle)),
    row.queue ? ` (${row.queue})` : "",
    ` lost ${tasks}`,
    ...claimant,
    make("div", { class: "muted small" }, `${row.action}: ${row.reason}; ${row.tasks.slice(0, 6).join(", ")}${row.count > 6 ? ", …" : ""}`),
  );
}
