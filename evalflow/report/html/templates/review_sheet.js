"use strict";
(() => {
  const { sheet, scale, tickets } = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const kept = `evalflow-review-${sheet}`;
  const formula = ["=", "+", "-", "@", "\t", "\r", "'"];
  const answers = [...document.querySelectorAll(".answer")];
  const choices = [...document.querySelectorAll(".choice")];
  let state = { rater: "", place: 0, said: {} };
  let last = "";

  // what is kept in the browser is read as somebody else's: another page of this folder may have written there
  function load() {
    try {
      const told = JSON.parse(localStorage.getItem(kept) || "{}");
      const said = {};
      for (const { ticket } of tickets) {
        const { rating = "", comment = "" } = (told.said || {})[ticket] || {};
        if (isRating(rating) || comment) said[ticket] = { rating: isRating(rating) ? rating : "", comment: String(comment) };
      }
      const place = Number.isInteger(told.place) ? Math.min(Math.max(told.place, 0), tickets.length) : 0;
      state = { rater: String(told.rater || ""), place, said };
    } catch {
      at("trouble").hidden = false;
    }
  }

  function keep() {
    try {
      localStorage.setItem(kept, JSON.stringify(state));
    } catch {
      at("trouble").hidden = false;
    }
  }

  const isRating = (text) => (scale.length ? scale.map(String) : ["left", "right", "tie"]).includes(text);
  const of = (ticket) => state.said[ticket] || { rating: "", comment: "" };
  const isRated = ({ ticket }) => of(ticket).rating !== "";
  const nRated = () => tickets.filter(isRated).length;

  function show() {
    const begun = state.rater !== "", over = state.place >= tickets.length;
    at("start").hidden = begun;
    at("judge").hidden = !begun || over;
    at("end").hidden = !begun || !over;
    at("save").hidden = !begun || over;
    at("bar").value = nRated();
    at("who").hidden = !begun;
    at("who").textContent = state.rater;
    const place = begun && !over ? `${state.place + 1} of ${tickets.length}, ${nRated()} rated` : `${nRated()} of ${tickets.length} rated`;
    at("where").textContent = last ? `${place}; the last: ${last}` : place;
    if (!begun) at("rater").focus();
    else if (over) showEnd();
    else showTicket(tickets[state.place]);
  }

  function showTicket({ ticket, prompt, target, answers: texts }) {
    at("prompt").textContent = prompt;
    at("target").textContent = target;
    at("target-part").hidden = target === "";
    answers.forEach((one, n) => { one.textContent = texts[n]; });
    at("comment").value = of(ticket).comment;
    for (const one of choices) one.setAttribute("aria-pressed", String(one.dataset.rating === of(ticket).rating));
    at("clear").hidden = of(ticket).rating === "";
    at("back").disabled = state.place === 0;
  }

  function showEnd() {
    const left = tickets.length - nRated();
    at("end-title").textContent = left ? `${left} without a rating` : "All rated";
    at("end-said").textContent = left
      ? "They may stay so: a missing rating is counted as missing. Download your ratings, and send back that file."
      : "Thank you. Download your ratings, and send back that file.";
    at("again").hidden = left === 0;
  }

  function go(place) {
    state.place = place;
    keep();
    show();
    at("prompt").scrollTop = 0;
    window.scrollTo(0, 0);
  }

  // on to the next without a rating; past the last one there is the end, which leads to those that were skipped
  function next() {
    const later = tickets.findIndex((one, n) => n > state.place && !isRated(one));
    go(later < 0 ? tickets.length : later);
  }

  function say(change) {
    const { ticket } = tickets[state.place];
    const told = { ...of(ticket), ...change };
    if (told.rating || told.comment) state.said[ticket] = told;
    else delete state.said[ticket];
    keep();
  }

  function rate(rating) {
    say({ rating });
    last = rating;
    next();
  }

  function clear() {
    say({ rating: "" });
    last = "";
    show();
  }

  const acts = {
    b: () => { if (state.place > 0) go(state.place - 1); },
    s: () => go(state.place + 1),
    x: clear,
    c: () => at("comment").focus(),
    ...(scale.length
      ? Object.fromEntries(scale.map((place) => [String(place), () => rate(String(place))]))
      : { arrowleft: () => rate("left"), arrowright: () => rate("right"), t: () => rate("tie") }),
  };

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target === at("comment")) at("comment").blur();
    // a key that is held down is no second rating, and what is typed is none at all
    const typed = ["INPUT", "TEXTAREA"].includes(event.target.tagName);
    if (typed || event.repeat || event.ctrlKey || event.metaKey || event.altKey || state.rater === "") return;
    const act = at("judge").hidden ? { b: acts.b }[event.key.toLowerCase()] : acts[event.key.toLowerCase()];
    if (!act) return;
    event.preventDefault();
    act();
  });

  const cell = (text) => `"${(formula.includes(text[0]) ? `'${text}` : text).replaceAll('"', '""')}"`;

  function save() {
    const lines = tickets.map(({ ticket }) => [sheet, ticket, of(ticket).rating, of(ticket).comment, state.rater]);
    const text = [["sheet", "ticket", "rating", "comment", "rater"], ...lines].map((line) => line.map(cell).join(","));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`\ufeff${text.join("\r\n")}\r\n`], { type: "text/csv" }));
    link.download = `ratings-${sheet}-${state.rater.replace(/[^\p{L}\p{N}]+/gu, "-")}.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  at("name").addEventListener("submit", (event) => {
    event.preventDefault();
    state.rater = at("rater").value.trim();
    keep();
    show();
  });
  at("who").addEventListener("click", () => {
    at("rater").value = state.rater;
    state.rater = "";
    show();
  });
  at("comment").addEventListener("input", () => say({ comment: at("comment").value }));
  for (const one of choices) one.addEventListener("click", () => { one.blur(); rate(one.dataset.rating); });
  for (const [id, act] of [["back", acts.b], ["skip", acts.s], ["clear", clear]]) at(id).addEventListener("click", act);
  for (const id of ["save", "save-end"]) at(id).addEventListener("click", save);
  at("again").addEventListener("click", () => go(tickets.findIndex((one) => !isRated(one))));
  at("last").addEventListener("click", () => go(tickets.length - 1));
  window.addEventListener("storage", (event) => { if (event.key === kept) { load(); show(); } });
  load();
  show();
})();
