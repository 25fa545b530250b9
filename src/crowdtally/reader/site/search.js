"use strict";
(() => {
  const MOST = 50;
  const index = JSON.parse(document.getElementById("index").textContent);
  const field = document.getElementById("query");
  const status = document.getElementById("status");
  const pages = document.getElementById("pages");
  const found = document.getElementById("found");
  const rows = found.querySelector("tbody");

  // Letters without their accents and cases, so that "cafe" finds "Café".
  const folded = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const names = index.items.map((entry) => folded(index.words.map((place) => entry[place]).join(" ")));
  const places = index.pages.map((entry) => folded(entry[0]));

  // Text is set as text, whatever is in it.
  const element = (tag, text) => {
    const made = document.createElement(tag);
    made.textContent = text;
    return made;
  };

  const row = (entry) => {
    const made = document.createElement("tr");
    const head = document.createElement("th");
    head.scope = "row";
    head.className = "words";
    head.append(element("bdi", entry[0]));
    made.append(head);
    entry.slice(1).forEach((text, column) => {
      const cell = element("td", text);
      if (index.words.includes(column + 1)) cell.className = "words";
      made.append(cell);
    });
    return made;
  };

  const link = (entry) => {
    const made = document.createElement("li");
    const anchor = element("a", entry[0]);
    anchor.href = entry[1];
    made.append(anchor);
    return made;
  };

  const matching = (texts, words) =>
    texts.flatMap((text, place) => (words.every((word) => text.includes(word)) ? [place] : []));

  const many = (number, one) => number + " " + one + (number === 1 ? "" : "s");

  const search = () => {
    const words = folded(field.value).split(/\s+/).filter(Boolean);
    const items = words.length ? matching(names, words) : [];
    const links = words.length ? matching(places, words) : [];
    rows.replaceChildren(...items.slice(0, MOST).map((place) => row(index.items[place])));
    pages.replaceChildren(...links.slice(0, MOST).map((place) => link(index.pages[place])));
    found.hidden = items.length === 0;
    pages.hidden = links.length === 0;
    const told = [[items, "item"], [links, "page"]].filter(([all]) => all.length);
    const cut = told.some(([all]) => all.length > MOST) ? " The first " + MOST + " are shown." : "";
    const said = told.map(([all, one]) => many(all.length, one)).join(" and ") || "Nothing";
    status.textContent = words.length ? said + " found." + cut : "";
  };

  field.addEventListener("input", search);
  document.getElementById("search").hidden = false;
  search();  // a browser may have kept what was typed before
})();
