// Suggestions below the search field as somebody types: an editable combobox with a list (WAI-ARIA Authoring Practices).
// Results are shown while somebody types, `/` focuses the field, and the arrow keys walk the hits.
// Without this script the field is a plain search field.
"use strict";

const PAUSE_MS = 200; // after the last key, before suggestions are requested

const field = document.getElementById("q");
const list = document.createElement("ul");
let asked = null; // the controller of the request under way
let timer = 0;
let chosen = -1; // the number of the active option

function close() {
  clearTimeout(timer);
  asked?.abort();
  chosen = -1;
  list.hidden = true;
  field.setAttribute("aria-expanded", "false");
  field.removeAttribute("aria-activedescendant");
}

function show(queries, urls) {
  clearTimeout(timer);
  chosen = -1;
  field.removeAttribute("aria-activedescendant");
  list.replaceChildren(...queries.map((query, number) => option(query, number, urls[number])));
  list.hidden = !queries.length;
  field.setAttribute("aria-expanded", String(!list.hidden));
}

function option(query, number, url) {
  const item = document.createElement("li");
  item.id = `suggestion-${number}`;
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", "false");
  item.dir = "auto";
  item.textContent = query;
  if (url) {
    item.dataset.url = url;
    item.dataset.place = url.split("/").slice(2).join("/");
  }
  item.addEventListener("click", () => take(item));
  return item;
}

function choose(number) {
  list.children[chosen]?.setAttribute("aria-selected", "false");
  chosen = number;
  const item = list.children[chosen];
  item?.setAttribute("aria-selected", "true");
  item?.scrollIntoView({ block: "nearest" });
  if (item) field.setAttribute("aria-activedescendant", item.id);
  else field.removeAttribute("aria-activedescendant");
}

// A suggested title opens its page, a suggested query is searched for.
function take(item) {
  close();
  if (item.dataset.url) {
    location.assign(item.dataset.url);
    return;
  }
  field.value = item.textContent;
  field.form.requestSubmit();
}

// Shows the results of a query in place of the content of this page.
async function showResults(text, signal) {
  const address = `${field.form.getAttribute("action")}?q=${encodeURIComponent(text)}`;
  const response = await fetch(`${address}&typing=1`, { signal });
  if (!response.ok || field.value !== text) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  document.getElementById("main").replaceChildren(...page.getElementById("main").childNodes);
  document.body.className = page.body.className;
  document.title = page.title;
  history.replaceState(null, "", address);
  openFacets();
}

function openFacets() {
  const facets = document.querySelector(".facets");
  if (facets) facets.open = matchMedia("(min-width: 78rem)").matches; // beside the hits: style.css
}

async function request() {
  const text = field.value;
  asked?.abort();
  asked = new AbortController();
  try {
    const address = `${field.dataset.suggestions}?q=${encodeURIComponent(text)}`;
    const response = await fetch(address, { signal: asked.signal });
    const [, queries, , urls] = response.ok ? await response.json() : ["", [], [], []];
    if (field.value !== text || document.activeElement !== field) return;
    show(queries, urls);
    await showResults(text, asked.signal);
  } catch (error) {
    if (error.name !== "AbortError") close(); // without suggestions, searching goes on
  }
}

function typed() {
  clearTimeout(timer);
  asked?.abort();
  if (field.value.trim()) timer = setTimeout(request, PAUSE_MS);
  else close();
}

function pressed(event) {
  if (event.isComposing) return; // the key is the input method's
  const last = list.children.length - 1;
  if (list.hidden) {
    if (event.key === "ArrowDown" && field.value.trim()) {
      event.preventDefault();
      request();
    }
  } else if (event.key === "ArrowDown" && !event.altKey) {
    event.preventDefault();
    choose(chosen < last ? chosen + 1 : -1);
  } else if (event.key === "ArrowUp" && !event.altKey) {
    event.preventDefault();
    choose(chosen < 0 ? last : chosen - 1);
  } else if (event.key === "Escape" || event.key === "ArrowUp") {
    event.preventDefault(); // Escape alone would empty the field
    close();
  } else if (event.key === "Enter" && chosen >= 0) {
    event.preventDefault();
    take(list.children[chosen]);
  }
}

// Keys outside the field.
function pressedOutside(event) {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const active = document.activeElement;
  if (active.matches("input, textarea, select")) return;
  if (event.key === "/") {
    event.preventDefault();
    field.focus();
    field.select();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const links = [...document.querySelectorAll(".hits h2 a")];
    if (!links.length || !(active === document.body || active.closest(".hits"))) return;
    const hit = active.closest(".hits > li");
    const place = links.findIndex((link) => hit?.contains(link)) + (event.key === "ArrowDown" ? 1 : -1);
    if (place >= links.length) return;
    event.preventDefault();
    (links[place] ?? field).focus();
  }
}

list.id = "suggestions";
list.setAttribute("role", "listbox");
list.setAttribute("aria-label", field.dataset.label);
list.hidden = true;
field.after(list);
field.setAttribute("role", "combobox");
field.setAttribute("aria-autocomplete", "list");
field.setAttribute("aria-controls", list.id);
field.setAttribute("aria-expanded", "false");
field.addEventListener("input", typed);
field.addEventListener("keydown", pressed);
field.addEventListener("blur", close);
field.form.addEventListener("submit", close);
document.addEventListener("keydown", pressedOutside);
openFacets();
list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
