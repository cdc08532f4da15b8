// Starts the page: which cycle and resource are shown, and who draws what.
import { find, get, make, post, showError } from "./dom.js";
import { drawEvictions } from "./evictions.js";
import { chooseQueue, drawJobs, startJobs } from "./jobs.js";
import { drawNodes, startNodes } from "./nodes.js";
import { drawQueues } from "./queues.js";
import { showJob, showNode, startSheet } from "./sheet.js";

let cycles = [];
let present = 0;
let units = {};

const openJob = (job, cycle = present) => showJob(job, cycle);

async function draw() {
  const resource = find("#resource").value;
  const number = present;
  showCycle();
  await Promise.all([
    drawQueues(number, resource, chooseQueue),
    drawNodes(number, resource, (name) => units[name], (name) => showNode(name, number)),
    drawJobs(number, openJob),
    drawEvictions(number, cycles, openJob, jump),
  ]);
}

function showCycle() {
  const index = cycles.findIndex((one) => one.cycle === present);
  const one = cycles[index];
  const slider = find("#cycle");
  slider.min = cycles[0].cycle;
  slider.max = cycles[cycles.length - 1].cycle;
  slider.value = present;
  slider.setAttribute("aria-valuetext", `cycle ${present} of ${slider.max}`);
  find("#cycle-text").textContent = `${present} of ${slider.max}`;
  find("#previous").disabled = index === 0;
  find("#next").disabled = index === cycles.length - 1;
  const facts = { nodes: one.nodes, jobs: one.jobs, bound: one.bound, pipelined: one.pipelined, evicted: one.evicted, ...pick(one.states, ["running", "waiting", "completed"]) };
  const names = { bound: "tasks bound", pipelined: "tasks pipelined", evicted: "tasks evicted", running: "jobs running", waiting: "jobs waiting", completed: "jobs completed" };
  find("#summary").replaceChildren(...Object.entries(facts).map(([name, value]) => make("div", {}, make("dt", {}, names[name] ?? name), make("dd", {}, String(value)))));
  notes("faults of plugins or actions", one.faults);
}

const pick = (values, names) => Object.fromEntries(names.map((name) => [name, values[name]]));

let warnings = [];
function notes(title, faults) {
  const place = find("#notes");
  const lines = [...faults.map((text) => `fault: ${text}`), ...warnings.map((text) => `input: ${text}`)];
  place.hidden = !lines.length;
  place.querySelector("summary").textContent = `${faults.length} ${title}, ${warnings.length} warnings about the input`;
  place.querySelector("ul").replaceChildren(...lines.map((text) => make("li", {}, text)));
}

function jump(cycle) {
  if (!cycles.some((one) => one.cycle === cycle)) return;
  present = cycle;
  history.replaceState(null, "", `#cycle=${cycle}`);
  draw();
}

async function loadCycles() {
  cycles = (await get("cycles", { limit: 1000 })).rows;
}

/** Fetch the cycles of a live cluster; a view of the last one moves on to the new one. */
async function follow() {
  const last = cycles[cycles.length - 1].cycle;
  try {
    await loadCycles();
    const newest = cycles[cycles.length - 1].cycle;
    if (newest !== last) present === last ? jump(newest) : draw();
  } catch (error) {
    showError(error.message);
  }
}

async function runCycle() {
  const button = find("#run");
  button.disabled = true;
  button.textContent = "Running…";
  try {
    const made = await post("cycles");
    await loadCycles();
    showError("");
    jump(made.cycle);
  } catch (error) {
    showError(error.message);
  } finally {
    button.disabled = false;
    button.textContent = "Run another cycle";
  }
}

function showAbout(about) {
  find("#run").hidden = about.live;
  if (about.live) setInterval(follow, 2000);
  warnings = about.warnings;
  units = Object.fromEntries(about.resources.map((one) => [one.name, one.unit]));
  find("#about").textContent = `${about.files.join(", ")} · policy ${about.policy}: ${about.actions.join(" → ")}`;
  find("#resource").replaceChildren(...about.resources.map((one) => make("option", { selected: one.name === about.resource }, one.name)));
  const links = about.handlers.flatMap((path) => [" ", make("a", { href: path }, path)]);
  find("#handlers").replaceChildren(`Pumice ${about.version}`, ...(links.length ? [". Served by plugins:", ...links] : []));
}

async function start() {
  startNodes();
  startJobs();
  startSheet();
  const slider = find("#cycle");
  slider.addEventListener("input", () => jump(Number(slider.value)));
  find("#previous").addEventListener("click", () => jump(present - 1));
  find("#next").addEventListener("click", () => jump(present + 1));
  find("#run").addEventListener("click", runCycle);
  find("#resource").addEventListener("change", draw);
  find("#cycle-form").addEventListener("submit", (event) => event.preventDefault());
  try {
    const [about] = await Promise.all([get("about"), loadCycles()]);
    showAbout(about);
    const asked = Number(new URLSearchParams(location.hash.slice(1)).get("cycle"));
    present = cycles.some((one) => one.cycle === asked) ? asked : cycles[cycles.length - 1].cycle;
    await draw();
    document.body.dataset.ready = "true";
  } catch (error) {
    showError(error.message);
  }
}

start();
