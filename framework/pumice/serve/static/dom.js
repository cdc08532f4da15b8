// Elements, amounts and requests. Text from the server is only ever set as text, never as markup.

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "click") element.addEventListener("click", value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export const find = (selector) => document.querySelector(selector);

export function link(text, click, label) {
  return make("button", { type: "button", class: "link", click, "aria-label": label }, ...name(text));
}

// A name of the form namespace/name may break after the slash.
export function name(text) {
  return text.split("/").flatMap((part, index) => (index ? ["/", make("wbr"), part] : [part]));
}

// Text with `commands` in it.
export function prose(text) {
  return text.split("`").map((part, index) => (index % 2 ? make("code", {}, part) : part));
}

export function hidden(text) {
  return make("span", { class: "hidden-text" }, text);
}

const BINARY = ["", "Ki", "Mi", "Gi", "Ti", "Pi"];

export function amount(value, unit) {
  if (unit === "count") return String(value);
  if (unit !== "bytes") return String(Math.round(value) / 1000);
  let step = 0;
  while (Math.abs(value) >= 1024 && step < BINARY.length - 1) {
    value /= 1024;
    step += 1;
  }
  return `${Math.round(value * 10) / 10}${BINARY[step]}`;
}

export const percent = (part) => `${Math.round(part * 100)} %`;

export function showError(text) {
  const place = find("#error");
  place.textContent = text;
  place.hidden = !text;
}

async function answer(response) {
  let data = {};
  try {
    data = await response.json();
  } catch {
    throw new Error(`the server answered ${response.status} without JSON`);
  }
  if (!response.ok) throw new Error(data.hint ? `${data.error} (${data.hint})` : data.error);
  return data;
}

function address(path, parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null);
  const query = new URLSearchParams(given).toString();
  return `/api/${path}${query ? `?${query}` : ""}`;
}

export const get = async (path, parameters = {}) => answer(await fetch(address(path, parameters)));

export const post = async (path, parameters = {}) => answer(await fetch(address(path, parameters), { method: "POST" }));

// Draws "1–50 of 20000" with buttons; `turn` is called with the new offset.
export function pager(place, page, size, turn) {
  const last = page.offset + page.count;
  place.hidden = page.total <= size && page.offset === 0;
  place.replaceChildren(
    make("button", { type: "button", disabled: page.offset === 0, click: () => turn(Math.max(0, page.offset - size)) }, "Previous"),
    make("button", { type: "button", disabled: last >= page.total, click: () => turn(page.offset + size) }, "Next"),
    make("span", { class: "muted" }, page.total ? `${page.offset + 1}–${last} of ${page.total}` : ""),
  );
}

// An answer that arrives after a later request was sent is dropped.
export function latest() {
  let number = 0;
  return async (work) => {
    const own = ++number;
    try {
      const data = await work();
      return own === number ? data : null;
    } catch (error) {
      if (own === number) showError(error.message);
      return null;
    }
  };
}
