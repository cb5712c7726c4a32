// A search box for pages of other sites, which the gateway allows by `serve --allow-origin`:
//
//   <beamtrawl-search><script type="module" src="https://search.example.org/box.js"></script></beamtrawl-search>
//
// It is an editable combobox with a list in groups, one for a page (WAI-ARIA Authoring Practices). Attributes:
// `label` (its name for screen readers, and the placeholder), `filter` (added to each query, such as site:example.org).
// It follows the `color-scheme` of its page. All texts from the gateway are shown as text.

const GATEWAY = new URL(".", import.meta.url);
const PAUSE_MS = 200; // after the last key, before the gateway is asked
const QUERIES = 3; // suggested queries that are shown
const PAGES = 6;
const MAX_QUERY = 300;
const MAX_WIDTH = 560; // px, of the list
const MARGIN = 8; // px, between the list and the edge of the window

const STYLE = `
  :host { display: inline-block; position: relative; inline-size: 20rem; max-inline-size: 100%;
    font: 1rem/1.45 system-ui, sans-serif; text-align: start; }
  :host([hidden]) { display: none; }
  * { box-sizing: border-box; }
  form { margin: 0; }
  input { inline-size: 100%; margin: 0; padding: .45em .7em; font: inherit; color: var(--ink);
    background: var(--ground); border: 1px solid var(--quiet); border-radius: .4em; }
  input:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
  input::placeholder { color: var(--quiet); opacity: 1; }
  form, .list { --ground: light-dark(#fff, #1b2322); --ink: light-dark(#17211f, #e3eae8);
    --quiet: light-dark(#5a6766, #9badaa); --accent: light-dark(#0b5c6b, #6fc3d2);
    --chosen: light-dark(#e2eff1, #26393b); }
  .list { position: absolute; z-index: 1000; inset-block-start: calc(100% + 4px); max-block-size: min(70vh, 36rem);
    overflow: auto; padding: .35rem; color: var(--ink); background: var(--ground); border: 1px solid var(--quiet);
    border-radius: .5em; box-shadow: 0 8px 24px #0004; overflow-wrap: anywhere; }
  .list[hidden] { display: none; }
  [role=group] + [role=group] { margin-block-start: .2rem; }
  a, p { display: block; margin: 0; padding: .35em .6em; border-radius: .3em; color: inherit; text-decoration: none; }
  a[aria-selected=true], a:hover { background: var(--chosen); }
  a[aria-selected=true] { outline: 2px solid var(--accent); outline-offset: -2px; }
  .title { font-weight: 600; color: var(--accent); }
  .section { margin-inline-start: 1.1rem; }
  .quiet { display: block; color: var(--quiet); font-size: .85em; font-weight: 400; }
  .snippet { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; }
  .unseen { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); }
`;

const sheet = new CSSStyleSheet(); // not an element: a policy of the page against inline styles does not stop it
sheet.replaceSync(STYLE);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const isWebUrl = (url) => /^https?:\/\//i.test(url);
const place = (url) => url.replace(/^https?:\/\//i, "").replace(/\/$/, "");
const pageOf = (url) => url.replace(/#.*/s, "");

class SearchBox extends HTMLElement {
  #field;
  #list;
  #status;
  #timer = 0;
  #asked = null; // the controller of the requests under way
  #chosen = -1; // the number of the active option

  connectedCallback() {
    if (this.shadowRoot) return; // it was moved
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    const label = this.getAttribute("label") || "Search";
    this.#list = element("div", { id: "list", class: "list", role: "listbox", "aria-label": label, hidden: "" });
    this.#status = element("p", { class: "unseen", role: "status" });
    this.#field = element("input", {
      ...{ id: "field", type: "search", placeholder: label, dir: "auto", maxlength: MAX_QUERY, autocomplete: "off" },
      ...{ autocapitalize: "none", spellcheck: "false", enterkeyhint: "search", role: "combobox" },
      ...{ "aria-autocomplete": "list", "aria-controls": "list", "aria-expanded": "false" },
    });
    const form = element("form", { role: "search" }, element("label", { for: "field", class: "unseen" }, label));
    form.append(this.#field);
    root.append(form, this.#list, this.#status);
    form.addEventListener("submit", (event) => this.#submit(event));
    this.#field.addEventListener("input", () => this.#typed());
    this.#field.addEventListener("keydown", (event) => this.#pressed(event));
    this.#field.addEventListener("blur", () => this.#close());
    this.#list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
  }

  disconnectedCallback() {
    this.#close();
  }

  get #options() {
    return [...this.#list.querySelectorAll("[role=option]")];
  }

  get #query() {
    return this.#with(this.#field.value.trim());
  }

  // The filter comes first: what is typed ends with the word that is not finished.
  #with(text) {
    return [this.getAttribute("filter"), text].filter(Boolean).join(" ");
  }

  #address(path, values) {
    return new URL(`${path}?${new URLSearchParams(values)}`, GATEWAY);
  }

  #submit(event) {
    event.preventDefault();
    if (this.#field.value.trim()) location.assign(this.#address("", { q: this.#query }));
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#asked?.abort();
    if (this.#field.value.trim()) this.#timer = setTimeout(() => this.#ask(), PAUSE_MS);
    else this.#close();
  }

  #close() {
    clearTimeout(this.#timer);
    this.#asked?.abort();
    this.#show([], "");
  }

  async #ask() {
    clearTimeout(this.#timer);
    this.#asked?.abort();
    this.#asked = new AbortController();
    const { signal } = this.#asked;
    const text = this.#field.value.trim();
    const typed = this.#field.value.trimStart(); // a space at its end ends the last word
    const get = async (path, values) => {
      const response = await fetch(this.#address(path, values), { signal, credentials: "omit", referrerPolicy: "origin" });
      const found = await response.json();
      if (!response.ok) throw new Error(found.error);
      return found;
    };
    try {
      const [suggested, found] = await Promise.all([
        get("api/suggest", { q: text }),
        get("api/search", { q: this.#with(typed), limit: PAGES, typing: 1 }),
      ]);
      this.#show(this.#groups(text, suggested, found), found.total ? `${found.total} pages found` : "");
    } catch (error) {
      if (error.name === "AbortError") return;
      const reason = error instanceof TypeError ? "The search cannot be reached." : error.message;
      this.#show([element("p", {}, reason)], reason);
    }
  }

  #groups(text, [, suggested, , urls], found) {
    const queries = suggested.filter((query, number) => !urls[number] && query !== text).slice(0, QUERIES);
    const groups = found.hits.filter((hit) => isWebUrl(hit.url)).map((hit) => this.#page(hit));
    if (!found.total) groups.push(element("p", {}, "No page matches."));
    if (queries.length) groups.push(this.#group("Suggestions", ...queries.map((query) => this.#suggestion(query))));
    if (found.total > found.hits.length) {
      const all = this.#option(this.#address("", { q: this.#query }), `All ${found.total.toLocaleString()} pages`);
      groups.push(this.#group("All results", all));
    }
    return groups;
  }

  #group(label, ...options) {
    return element("div", { role: "group", "aria-label": label }, ...options);
  }

  #option(url, ...content) {
    return element("a", { href: url, role: "option", tabindex: "-1", "aria-selected": "false", dir: "auto" }, ...content);
  }

  #suggestion(query) {
    const made = this.#option(this.#address("", { q: query }), query);
    made.addEventListener("click", (event) => {
      event.preventDefault();
      this.#field.value = query;
      this.#field.focus();
      this.#ask();
    });
    return made;
  }

  // The options of a page: its top, and the section of the passage that matches.
  #page(hit) {
    const title = hit.title || place(hit.url);
    const where = element("span", { class: "quiet" }, place(hit.url));
    const snippet = element("span", { class: "quiet snippet" }, hit.snippet);
    const top = this.#option(hit.url, element("span", { class: "title" }, title), where);
    const repeats = hit.path && title.toLowerCase().startsWith(hit.path[0].toLowerCase());
    const headings = (hit.path ?? []).slice(repeats ? 1 : 0);
    if (!headings.length || !hit.section_url || pageOf(hit.section_url) !== hit.url) {
      top.append(snippet);
      return this.#group(title, top);
    }
    const inside = this.#option(hit.section_url, headings.join(" › "), snippet);
    inside.classList.add("section");
    return this.#group(title, top, inside);
  }

  #show(groups, status) {
    this.#list.replaceChildren(...groups);
    this.#options.forEach((option, number) => (option.id = `option-${number}`));
    this.#choose(-1);
    this.#list.hidden = !groups.length;
    this.#field.setAttribute("aria-expanded", String(!this.#list.hidden));
    this.#status.textContent = status;
    if (groups.length) this.#fit();
  }

  // Keeps the list in the window, also where the box is narrow or at the window's edge.
  #fit() {
    const box = this.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    const width = Math.min(Math.max(box.width, MAX_WIDTH), room - 2 * MARGIN);
    const left = Math.min(Math.max(box.left, MARGIN), room - MARGIN - width);
    this.#list.style.width = `${width}px`;
    this.#list.style.left = `${left - box.left}px`;
  }

  #choose(number) {
    const options = this.#options;
    options[this.#chosen]?.setAttribute("aria-selected", "false");
    this.#chosen = number;
    const option = options[number];
    option?.setAttribute("aria-selected", "true");
    option?.scrollIntoView({ block: "nearest" });
    if (option) this.#field.setAttribute("aria-activedescendant", option.id);
    else this.#field.removeAttribute("aria-activedescendant");
  }

  #pressed(event) {
    if (event.isComposing || event.altKey) return; // the key is the input method's or the browser's
    const last = this.#options.length - 1;
    if (event.key === "ArrowDown") {
      event.preventDefault();
      if (!this.#list.hidden) this.#choose(this.#chosen < last ? this.#chosen + 1 : -1);
      else if (this.#field.value.trim()) this.#ask();
    } else if (this.#list.hidden) {
      return;
    } else if (event.key === "ArrowUp") {
      event.preventDefault();
      this.#choose(this.#chosen < 0 ? last : this.#chosen - 1);
    } else if (event.key === "Escape") {
      event.preventDefault(); // it would empty the field
      this.#close();
    } else if (event.key === "Enter" && this.#chosen >= 0) {
      event.preventDefault();
      this.#options[this.#chosen].click();
    }
  }
}

if (!customElements.get("beamtrawl-search")) customElements.define("beamtrawl-search", SearchBox);
