// Suggestions below the search field as somebody types: an editable combobox with a list (WAI-ARIA Authoring Practices).
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

function show(queries) {
  close();
  list.replaceChildren(...queries.map(option));
  list.hidden = !queries.length;
  field.setAttribute("aria-expanded", String(!list.hidden));
}

function option(query, number) {
  const item = document.createElement("li");
  item.id = `suggestion-${number}`;
  item.setAttribute("role", "option");
  item.setAttribute("aria-selected", "false");
  item.dir = "auto";
  item.textContent = query;
  item.addEventListener("click", () => search(query));
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

function search(query) {
  field.value = query;
  close();
  field.form.requestSubmit();
}

async function request() {
  const text = field.value;
  asked?.abort();
  asked = new AbortController();
  try {
    const address = `${field.dataset.suggestions}?q=${encodeURIComponent(text)}`;
    const response = await fetch(address, { signal: asked.signal });
    const queries = response.ok ? (await response.json())[1] : [];
    if (field.value === text && document.activeElement === field) show(queries);
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
    search(list.children[chosen].textContent);
  }
}

list.id = "suggestions";
list.setAttribute("role", "listbox");
list.setAttribute("aria-label", "Suggestions");
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
list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
