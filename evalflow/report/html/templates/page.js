"use strict";
// A page of rows at a time, of those that are asked for. Without it all of them stand there.
(() => {
  const form = document.getElementById("filter");
  if (!form) return;
  const size = 20;
  const list = document.getElementById("rows");
  const rows = Array.from(list.children);
  const { arm, metric, text, back, on } = form.elements;
  const said = form.querySelector("output");
  let first = 0;

  const wanted = (row) =>
    (!arm.value || row.dataset.arm === arm.value) &&
    (!metric.value || row.dataset.metrics.split("\n").includes(metric.value)) &&
    (!text.value || row.textContent.toLowerCase().includes(text.value.toLowerCase()));

  const show = () => {
    const found = rows.filter(wanted);
    first = Math.max(0, Math.min(first, Math.floor((found.length - 1) / size) * size));
    const shown = new Set(found.slice(first, first + size));
    for (const row of rows) row.hidden = !shown.has(row);
    const last = first + shown.size;
    said.value = found.length ? `${first + 1}–${last} of ${found.length}` : "none";
    back.disabled = first === 0;
    on.disabled = last >= found.length;
  };
  const turn = (by) => {
    first += by;
    show();
    list.scrollIntoView();
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    first = 0;
    show();
  });
  back.addEventListener("click", () => turn(-size));
  on.addEventListener("click", () => turn(size));
  form.hidden = false;
  show();
})();
