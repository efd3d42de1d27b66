// Puts what the server sends in place of what the page showed before.
"use strict";
const connection = document.getElementById("connection");
const live = document.getElementById("live");
const open = () => {
  const source = new EventSource(live.dataset.events);
  source.onmessage = (event) => {
    live.innerHTML = event.data;
    connection.textContent = "Live.";
  };
  source.onerror = () => {
    connection.textContent = "The page's program does not answer, or too many pages are live; trying again.";
    // A browser tries no more what was refused.
    if (source.readyState === EventSource.CLOSED) {
      setTimeout(open, 10000);
    }
  };
};
open();
