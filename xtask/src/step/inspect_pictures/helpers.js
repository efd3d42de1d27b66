// What scenes ask of a page, there before its own scripts.

// Keeps what it saves, by name, in place of the browser: its text, and a picture's size.
window.saved = {};
const create = URL.createObjectURL;
let last = null;
URL.createObjectURL = (blob) => {
  last = blob;
  return create.call(URL, blob);
};
HTMLAnchorElement.prototype.click = async function () {
  const blob = last;
  const picture = blob.type === "image/png" ? await createImageBitmap(blob) : null;
  window.saved[this.download] = { text: await blob.text(), picture };
};

// How many milliseconds after the page was opened the first row of tasks was drawn.
new MutationObserver((_, observer) => {
  if (document.querySelector("#panel-tasks tbody tr") === null) return;
  observer.disconnect();
  // The frame with the row has been drawn when this comes after it.
  const note = () => {
    window.firstRow = Math.round(performance.now());
  };
  requestAnimationFrame(() => setTimeout(note));
}).observe(document, { childList: true, subtree: true });

// How large a look is, and how long it takes to get one.
window.look = async () => {
  const begin = performance.now();
  const headers = { Authorization: `Bearer ${sessionStorage.getItem("token")}` };
  const text = await (await fetch("view", { headers })).text();
  return { bytes: new Blob([text]).size, millis: Math.round(performance.now() - begin) };
};

// Chooses a value of a list; "" is all.
window.choose = (list, value) => {
  const select = document.querySelector(list);
  select.value = value;
  select.dispatchEvent(new Event("change"));
};

// A task has a name with elements, control characters and a mark of text direction: it is in this panel as text, escaped by
// the program. The title of a cell, or the label of a node, is never cut.
window.hasHostileName = (panel) => {
  const parts = ["<script>window.obeyed", "<img src=x onerror=", "\\u{1b}[2J", "\\u{202e}"];
  const texts = [...document.querySelectorAll(`${panel} td, ${panel} .node`)].map(
    (one) => one.getAttribute("title") ?? one.getAttribute("aria-label") ?? "",
  );
  return texts.some((text) => parts.every((part) => text.includes(part)));
};

// Nothing in it is obeyed.
window.obeysNothing = () =>
  window.obeyed === undefined &&
  document.querySelector("body script, body img, body [onerror], body [onload]") === null &&
  !/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/.test(document.body.textContent);
