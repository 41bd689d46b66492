"use strict";
const tooltip = document.getElementById("tooltip");

function nearest(places, place) {
  let best = 0;
  places.forEach((each, index) => {
    if (Math.abs(places[best] - place) > Math.abs(each - place)) best = index;
  });
  return best;
}

function line(text, slot) {
  const row = document.createElement("div");
  if (slot !== undefined) {
    const dot = document.createElement("span");
    dot.className = "dot c" + slot;
    row.append(dot);
  }
  row.append(text);
  return row;
}

for (const chart of document.querySelectorAll("svg[data-hover]")) {
  const data = JSON.parse(chart.dataset.hover);
  const rule = document.createElementNS("http://www.w3.org/2000/svg", "line");
  rule.setAttribute("class", "rule");
  rule.setAttribute("y1", "0");
  rule.setAttribute("y2", "100%");
  chart.append(rule);
  chart.addEventListener("pointermove", (event) => {
    const box = chart.getBoundingClientRect();
    const style = getComputedStyle(chart);
    const left = parseFloat(style.paddingLeft);
    const width = box.width - left - parseFloat(style.paddingRight);
    const index = nearest(data.x, (event.clientX - box.left - left) / width);
    rule.setAttribute("x1", 100 * data.x[index] + "%");
    rule.setAttribute("x2", 100 * data.x[index] + "%");
    rule.classList.add("shown");
    const hidden = chart.closest("section").classList;
    const rows = data.lines
      .filter((each) => each.at[index] !== null)
      .filter((each) => !hidden.contains("hide-" + each.slot))
      .map((each) => line(each.name + "  " + each.at[index] + " ms", each.slot));
    tooltip.replaceChildren(line(data.head[index]), ...rows);
    tooltip.hidden = false;
    const room = document.documentElement.clientWidth - tooltip.offsetWidth - 8;
    const x = box.left + left + width * data.x[index] + 12;
    tooltip.style.left = (x > room ? Math.max(8, x - tooltip.offsetWidth - 24) : x) + "px";
    tooltip.style.top = Math.max(8, event.clientY - tooltip.offsetHeight - 12) + "px";
  });
  chart.addEventListener("pointerleave", () => {
    tooltip.hidden = true;
    rule.classList.remove("shown");
  });
}

for (const button of document.querySelectorAll("button[data-slot]")) {
  button.addEventListener("click", () => {
    const shown = button.getAttribute("aria-pressed") === "true";
    button.setAttribute("aria-pressed", String(!shown));
    button.closest("section").classList.toggle("hide-" + button.dataset.slot, shown);
  });
}
