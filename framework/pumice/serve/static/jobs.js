// The jobs of a cycle, by pages, with search and filters.
import { find, get, latest, link, make, pager, showError } from "./dom.js";

const PAGE = 50;
const SIGNS = { waiting: "◷", running: "▶", evicted: "✕", completed: "✓" };
const request = latest();
const filter = { q: "", state: "", queue: "" };
let offset = 0;
let present = null;
let show = () => {};

export async function drawJobs(cycle, open) {
  present = cycle;
  show = open;
  await load();
}

export function chooseQueue(queue) {
  filter.queue = queue;
  offset = 0;
  const button = find("#queue-filter");
  button.hidden = !queue;
  button.textContent = `Queue ${queue} ✕`;
  button.setAttribute("aria-label", `Show the jobs of all queues, not only ${queue}`);
  load();
  if (queue) find("#jobs").scrollIntoView({ block: "nearest" });
}

async function load() {
  const data = await request(() => get("jobs", { cycle: present, ...filter, offset, limit: PAGE }));
  if (!data) return;
  if (!data.rows.length && offset) {
    offset = 0;
    await load();
    return;
  }
  showError("");
  find("#jobs-count").textContent = data.total === data.all ? `${data.all} jobs` : `${data.total} of ${data.all} jobs`;
  find("#jobs tbody").replaceChildren(...(data.rows.length ? data.rows.map(row) : [nothing()]));
  const turn = (next) => {
    offset = next;
    load();
    find("#jobs").scrollIntoView({ block: "start" });
  };
  pager(find("#jobs .pager"), { total: data.total, offset: data.offset, count: data.rows.length }, PAGE, turn);
}

const nothing = () => make("tr", {}, make("td", { colspan: 5, class: "muted" }, "No job matches."));

export function state(word) {
  return make("span", { class: `state ${word}` }, make("span", { "aria-hidden": "true" }, `${SIGNS[word] ?? "◷"} `), word);
}

function row(job) {
  return make(
    "tr",
    {},
    make("th", { scope: "row" }, link(job.job, () => show(job.job), `Explain ${job.job}`), make("span", { class: "narrow muted small" }, job.queue)),
    make("td", { class: "wide" }, job.queue),
    make("td", {}, state(job.state)),
    make("td", { class: "wide" }, `${job.ready} of ${job.tasks}, min ${job.minimum}`),
    make("td", {}, job.code ? make("code", {}, job.code) : null, make("span", { class: "why", title: job.reason }, job.reason)),
  );
}

export function startJobs() {
  let timer = 0;
  find("#search").addEventListener("input", (event) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      filter.q = event.target.value.trim();
      offset = 0;
      load();
    }, 150);
  });
  find("#state").addEventListener("change", (event) => {
    filter.state = event.target.value;
    offset = 0;
    load();
  });
  find("#queue-filter").addEventListener("click", () => chooseQueue(""));
  find("#jobs form").addEventListener("submit", (event) => event.preventDefault());
}
