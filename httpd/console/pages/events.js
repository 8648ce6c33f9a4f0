// Shows new events above the others as they happen. Without this the page shows what there was when it was made.
"use strict";
const mark = document.getElementById("live");
const keep = 500;
let source = null;

function cell(row, ...children) {
  const td = document.createElement("td");
  td.append(...children);
  row.append(td);
}

function element(name, text, attributes) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function add(event) {
  const body = document.querySelector("main tbody");
  if (!body) return location.reload(); // the first event of a page without a table
  const row = document.createElement("tr");
  cell(row, element("a", event.LSN, { href: "/console/events/" + event.LSN }));
  cell(row, element("time", event.Time, { datetime: event.Time }));
  cell(row, event.Event);
  cell(row, ...(event.Decision ? [element("span", event.Decision, { class: "status " + event.Decision })] : []));
  for (const text of [event.Action, event.Agent, event.Rule, event.Why]) cell(row, text);
  body.prepend(row);
  while (body.rows.length > keep) body.lastElementChild.remove();
}

function listen(after) {
  source = new EventSource(mark.dataset.source + "&after=" + after);
  source.onmessage = (message) => {
    mark.dataset.after = message.lastEventId;
    add(JSON.parse(message.data));
  };
  source.onerror = () => {
    if (source.readyState === EventSource.CLOSED) stop("Live updates have ended. Load the page again.");
  };
  say("Live", true);
}

function stop(text) {
  source.close();
  source = null;
  say(text, false);
}

function say(text, live) {
  mark.textContent = text;
  mark.setAttribute("aria-pressed", String(live));
}

if (mark) {
  mark.hidden = false;
  mark.addEventListener("click", () => (source ? stop("Live updates are off") : listen(mark.dataset.after)));
  listen(mark.dataset.after);
}
