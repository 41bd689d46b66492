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
      .map((each) => line(each.name + "  " + each.at[index] + " " + data.unit, each.slot));
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

function save(name, type, content) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type: type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function named(text, ending) {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) + ending;
}

function button(text, title, action) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "save";
  made.textContent = text;
  made.title = title;
  made.addEventListener("click", action);
  return made;
}

function csv(table) {
  const quoted = (text) => (/[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
  return [...table.rows].map((row) => [...row.cells].map((cell) => quoted(cell.textContent.trim())).join(",")).join("\n") + "\n";
}

function standalone(chart) {
  const box = chart.getBoundingClientRect();
  const style = getComputedStyle(chart);
  const [left, top] = [parseFloat(style.paddingLeft), parseFloat(style.paddingTop)];
  const inner = [box.width - left - parseFloat(style.paddingRight), box.height - top - parseFloat(style.paddingBottom)];
  const whole = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  whole.setAttribute("width", box.width);
  whole.setAttribute("height", box.height);
  const sheet = document.createElementNS("http://www.w3.org/2000/svg", "style");
  sheet.textContent = document.querySelector("style").textContent + "svg{font-family:system-ui,sans-serif}";
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("style", "fill:var(--surface)");
  const drawing = chart.cloneNode(true);
  for (const name of ["style", "class", "data-hover"]) drawing.removeAttribute(name);
  for (const rule of drawing.querySelectorAll(".rule")) rule.remove();
  const places = { x: left, y: top, width: inner[0], height: inner[1], overflow: "visible" };
  for (const [name, value] of Object.entries(places)) drawing.setAttribute(name, value);
  whole.append(sheet, ground, drawing);
  return new XMLSerializer().serializeToString(whole);
}

for (const table of document.querySelectorAll("table")) {
  const name = table.caption ? table.caption.textContent : "table";
  table.closest(".scroll").before(button("CSV", "Save this table as CSV", () => save(named(name, ".csv"), "text/csv", csv(table))));
}

for (const chart of document.querySelectorAll("svg.chart, svg.graph")) {
  const name = chart.getAttribute("aria-label") || "chart";
  chart.before(button("SVG", "Save this chart as SVG", () => save(named(name, ".svg"), "image/svg+xml", standalone(chart))));
}

for (const plot of document.querySelectorAll("img.plot")) {
  const bytes = () => Uint8Array.from(atob(plot.src.split(",")[1]), (each) => each.charCodeAt(0));
  plot.before(button("SVG", "Save this chart as SVG", () => save(named(plot.alt, ".svg"), "image/svg+xml", bytes())));
}

const data = document.getElementById("data");
if (data) {
  const unpacked = async () => {
    if (!data.dataset.packed) return data.textContent;
    const bytes = Uint8Array.from(atob(data.textContent), (each) => each.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).blob();
  };
  const all = button("All data as JSON", "What -o json prints", async () => save("result.json", "application/json", await unpacked()));
  document.querySelector("footer h2").after(all);
}
