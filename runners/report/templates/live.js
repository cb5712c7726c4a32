"use strict";
const renewal = document.getElementById("renewal"), seconds = Number(renewal.dataset.every);
const text = document.createElement("span"), button = document.createElement("button");
let isPaused = false;
text.textContent = `Renewed every ${seconds} s. `;
button.type = "button";
button.textContent = "Pause";
button.addEventListener("click", () => {
  isPaused = !isPaused;
  button.textContent = isPaused ? "Go on" : "Pause";
  text.textContent = isPaused ? "Paused. " : `Renewed every ${seconds} s. `;
});
renewal.replaceChildren(text, button);

// Changes what differs, so that focus, scrolling, selection and opened details stay.
function change(old, now) {
  if (old.nodeType !== now.nodeType || old.nodeName !== now.nodeName || old.id !== now.id) return old.replaceWith(now);
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== now.data) old.data = now.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (name !== "open" && !now.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  const before = [...old.childNodes], after = [...now.childNodes];
  after.forEach((node, number) => number < before.length ? change(before[number], node) : old.append(node));
  before.slice(after.length).forEach((node) => node.remove());
}

async function renew() {
  if (!document.hidden && !isPaused) {
    try {
      const answer = await fetch(location.href, { cache: "no-store" });
      if (!answer.ok) throw new Error();
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const place of ["header > .quiet", "#state", "nav", "main"])
        change(document.querySelector(place), page.querySelector(place));
      text.textContent = isPaused ? "Paused. " : `Renewed every ${seconds} s. `;
    } catch {
      text.textContent = "The page gets no answer; these are old figures. ";
    }
  }
  setTimeout(renew, 1000 * seconds);
}
setTimeout(renew, 1000 * seconds);
