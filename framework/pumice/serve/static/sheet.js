// The sheet at the side: why a job waits, and what is on a node.
import { find, get, hidden, latest, link, make, post, prose, showError } from "./dom.js";
import { state } from "./jobs.js";

const request = latest();
let back = null;

const pathOf = (job) => job.split("/").map(encodeURIComponent).join("/");

export async function showJob(job, cycle) {
  const data = await request(() => get(`explain/${pathOf(job)}`, { cycle }));
  if (data) open(data.job, explanation(data));
}

export async function showNode(name, cycle) {
  const data = await request(() => get(`node/${encodeURIComponent(name)}`, { cycle }));
  if (data) open(data.node, node(data));
}

function open(title, parts) {
  const sheet = find("#sheet");
  showError("");
  find("#sheet-title").textContent = title;
  find("#sheet-body").replaceChildren(...parts);
  if (!sheet.open) {
    back = document.activeElement;
    sheet.showModal();
  }
  sheet.scrollTop = 0;
  find("#sheet-title").focus();
}

function explanation(data) {
  const about = data.about.title
    ? [make("p", {}, ...prose(data.about.meaning)), make("p", {}, make("strong", {}, "What helps: "), ...prose(data.about.remedy))]
    : [];
  return [
    make("p", {}, state(data.verdict), " ", make("code", {}, data.code), make("span", { class: "muted" }, ` · queue ${data.queue}, priority ${data.priority}, end of cycle ${data.cycle}`)),
    make("p", { class: "binding" }, data.binding),
    ...about,
    ...changes(data),
    make("h3", {}, "Steps of the decision"),
    make("ol", { class: "levels" }, ...data.levels.map(level)),
    ...victims(data.victims, data.more_victims),
    ...tasks(data),
  ];
}

function level(one) {
  const by = [one.plugin && `plugin ${one.plugin}`, one.hook, one.tier && `tier ${one.tier}`, one.where].filter(Boolean).join(" · ");
  return make(
    "li",
    { class: one.ok ? "passed" : "stopped" },
    make("span", { class: "sign", "aria-hidden": "true" }, one.ok ? "✓" : "✗"),
    hidden(one.ok ? "passed: " : "stopped: "),
    make("strong", {}, `${one.level}: `),
    one.text,
    by ? make("div", { class: "muted small" }, by) : null,
    numbers(one.numbers),
  );
}

// Amounts by resource as a table with a row for each name; everything else as a line.
function numbers(values) {
  const entries = Object.entries(values);
  if (!entries.length) return null;
  const tables = entries.filter(([, value]) => value && typeof value === "object");
  const lines = entries.filter(([, value]) => !value || typeof value !== "object");
  const columns = [...new Set(tables.flatMap(([, value]) => Object.keys(value)))];
  const parts = lines.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, words(name)), make("td", { colspan: columns.length || 1 }, String(value))));
  const head = columns.length ? make("thead", {}, make("tr", {}, make("td", {}), ...columns.map((name) => make("th", { scope: "col" }, name)))) : null;
  const rows = tables.map(([name, value]) => make("tr", {}, make("th", { scope: "row" }, words(name)), ...columns.map((column) => make("td", {}, value[column] === undefined ? "" : String(value[column])))));
  return make("details", {}, make("summary", { class: "small" }, "numbers"), make("table", { class: "numbers" }, head, make("tbody", {}, ...rows, ...parts)));
}

const words = (name) => name.replaceAll("_", " ");

// Looks for changes that would let the job run; that takes seconds, so only when asked.
function changes(data) {
  if (!["pending", "never"].includes(data.verdict)) return [];
  const place = make("div", { "aria-live": "polite" });
  const button = make("button", { type: "button" }, "What would let it run?");
  button.addEventListener("click", async () => {
    button.disabled = true;
    place.replaceChildren(make("p", { class: "muted" }, "Trying changes on the same cluster…"));
    try {
      const tried = await post(`changes/${pathOf(data.job)}`, { cycle: data.cycle });
      place.replaceChildren(make("ul", {}, ...tried.found.map((one) => make("li", {}, `${one.change}: ${one.result}`))), make("p", { class: "muted" }, tried.text));
    } catch (error) {
      place.replaceChildren(make("p", { role: "alert" }, error.message));
    }
    button.disabled = false;
  });
  return [make("p", {}, button), place];
}

function victims(found, more) {
  if (!found.length) return [];
  const rows = found.map((one) =>
    make("tr", {}, make("th", { scope: "row" }, one.task), make("td", {}, one.outcome), make("td", {}, [one.plugin, one.hook, one.tier && `tier ${one.tier}`].filter(Boolean).join(" · ")), make("td", {}, one.reason)),
  );
  return [make("h3", {}, `Victims considered: ${found.length + more}`), table(["Task", "Outcome", "By", "Why"], rows), ...andMore(more)];
}

function tasks(data) {
  if (!data.tasks.length) return [];
  const rows = data.tasks.map((one) => {
    const place = one.node ? link(one.node, () => showNode(one.node, data.cycle)) : "–";
    return make("tr", {}, make("th", { scope: "row" }, one.task), make("td", {}, one.status), make("td", {}, place));
  });
  return [make("h3", {}, "Tasks"), table(["Task", "Status", "Node"], rows), ...andMore(data.more_tasks)];
}

function node(data) {
  const resources = Object.entries(data.resources).map(([name, one]) =>
    make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, one.used), make("td", {}, one.releasing), make("td", {}, one.allocatable)),
  );
  const rows = data.rows.map((one) => {
    const job = one.job ? link(one.job, () => showJob(one.job, data.cycle)) : "no job";
    return make("tr", {}, make("th", { scope: "row" }, one.task), make("td", {}, job), make("td", {}, one.status), make("td", {}, one.request));
  });
  return [
    make("p", { class: "muted" }, `Node at the end of cycle ${data.cycle}${data.closed ? "; it takes no tasks: cordoned or not ready" : ""}`),
    make("h3", {}, "Resources"),
    table(["Resource", "In use", "Being released", "Allocatable"], resources),
    make("h3", {}, `Tasks: ${data.total}`),
    rows.length ? table(["Task", "Job", "Status", "Request"], rows) : make("p", {}, "none"),
    ...andMore(data.total - data.rows.length),
  ];
}

const andMore = (count) => (count > 0 ? [make("p", { class: "muted" }, `and ${count} more`)] : []);

function table(heads, rows) {
  return make("table", {}, make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col" }, head)))), make("tbody", {}, ...rows));
}

export function startSheet() {
  const sheet = find("#sheet");
  find("#sheet-close").addEventListener("click", () => sheet.close());
  sheet.addEventListener("click", (event) => event.target === sheet && event.offsetX < 0 && sheet.close());
  sheet.addEventListener("close", () => back && back.isConnected && back.focus());
}
