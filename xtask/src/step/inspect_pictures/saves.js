// Keeps what a page saves, by name, in place of the browser: its text, and a picture's size.
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
