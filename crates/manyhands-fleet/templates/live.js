// Puts what the server sends in place of what the page showed before.
"use strict";
const connection = document.getElementById("connection");
const live = document.getElementById("live");
const source = new EventSource(live.dataset.events);
source.onmessage = (event) => {
  live.innerHTML = event.data;
  connection.textContent = "Live.";
};
source.onerror = () => {
  connection.textContent = "The page's program does not answer; trying again.";
};
