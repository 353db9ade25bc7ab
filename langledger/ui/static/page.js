// Keys, the theme, the chart, and noticing that something was recorded.
"use strict";
(() => {
  const root = document.documentElement;
  const $ = (selector, within = document) => within.querySelector(selector);

  $(".tabs [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  // --- theme ---------------------------------------------------------------
  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  function switchTheme() {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("langledger-theme", root.dataset.theme); } catch { /* not kept */ }
    drawAll();
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll());

  // --- keys ----------------------------------------------------------------
  const items = () => [...document.querySelectorAll("[data-item]")];
  function step(by) {
    const all = items();
    if (!all.length) return;
    const at = all.findIndex((item) => item.classList.contains("at"));
    const next = all[Math.min(Math.max(at + by, 0), all.length - 1)];
    all.forEach((item) => item.classList.remove("at"));
    next.classList.add("at");
    next.scrollIntoView({ block: "nearest" });
    // What opens it, not a link within what it says.
    ($("header a, td a, a.itself", next) || next).focus({ preventScroll: true });
  }
  function search() {
    const field = $("input[type=search]");
    if (field) { field.focus(); field.select(); } else location.href = document.body.dataset.search;
  }
  if (location.hash === "#search") search();
  const keys = {
    "/": search,
    j: () => step(1),
    k: () => step(-1),
    r: () => location.reload(),
    t: switchTheme,
    "?": () => $("#keys").showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && event.target.matches("input, textarea, select")) { event.target.blur(); return; }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, textarea, select")) return;
    const link = [...document.querySelectorAll("[data-key]")].find((a) => a.dataset.key === event.key);
    if (link) { event.preventDefault(); link.click(); return; }
    if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
  });
  $("#theme").addEventListener("click", switchTheme);
  $("#help").addEventListener("click", () => $("#keys").showModal());
  $("#news").addEventListener("click", () => location.reload());

  // --- live ----------------------------------------------------------------
  let pulse = null;
  async function listen() {
    if (!document.hidden) {
      try {
        const answer = await fetch(document.body.dataset.pulse, { cache: "no-store" });
        const told = answer.ok ? await answer.text() : pulse;
        if (pulse !== null && told !== pulse) changed();
        pulse = told;
        document.body.classList.remove("lost");
      } catch { document.body.classList.add("lost"); }
    }
    setTimeout(listen, 1500);
  }
  function changed() {
    if ($("[hx-trigger*='changed from:body']")) htmx.trigger(document.body, "changed");
    else $("#news").hidden = false;
  }
  listen();

  // --- the chart -----------------------------------------------------------
  const PARTS = [
    ["fixed", "system and tools"], ["summary", "summary"], ["state", "working state"],
    ["kept", "kept as it was"], ["said", "said since"], ["results", "tool results since"],
    ["beyond", "recalled and other"],
  ];
  const probe = document.createElement("i");
  function colour(name) {
    probe.className = `paint ${name}`;
    document.body.append(probe);
    const found = getComputedStyle(probe).backgroundColor;
    probe.remove();
    return found;
  }
  function stacked(data) {
    const sums = [];
    PARTS.forEach(([name], place) => {
      sums.push(data[name].map((value, i) => value + (place ? sums[place - 1][i] : 0)));
    });
    return sums.reverse();
  }
  function markers(data) {
    return { hooks: { draw: [(plot) => {
      const { ctx, bbox } = plot;
      ctx.save();
      ctx.strokeStyle = colour("mark");
      ctx.fillStyle = colour("mark");
      ctx.lineWidth = devicePixelRatio;
      ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
      ctx.textAlign = "center";
      ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
      const labels = [];
      for (const one of data.compactions) {
        const x = plot.valToPos(one.at, "x", true);
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
        const last = labels.at(-1), name = String(one.generation), gap = 6 * devicePixelRatio;
        // Those that stand too near to be told apart share one label.
        if (last && x - last.x < gap + (ctx.measureText(last.name).width + ctx.measureText(name).width) / 2) {
          last.name += `, ${name}`;
          last.x = (last.from + x) / 2;
        } else labels.push({ name, x, from: x });
      }
      if (data.compactions.length <= 30) labels.forEach((label) => ctx.fillText(label.name, label.x, bbox.top - 4 * devicePixelRatio));
      ctx.restore();
    }] } };
  }
  function draw(figure, data) {
    const place = $(".plot", figure);
    place.replaceChildren();
    const text = colour("text"), grid = { stroke: colour("grid"), width: 1 };
    const axis = { stroke: text, grid, ticks: grid, font: "12px system-ui, sans-serif" };
    const flat = (value) => data.seqs.map(() => value);
    const area = ([name, label]) => ({ label, stroke: colour(name), fill: colour(name), width: 0, points: { show: false },
      value: (plot, _, series, i) => i === null ? "–" : data[name][i].toLocaleString() });
    const line = (label, name, dash) => ({ label, stroke: colour(name), width: 1.5, dash, points: { show: false },
      value: (plot, value) => value == null ? "–" : value.toLocaleString() });
    const series = [{ label: "entry", value: (plot, value) => value == null ? "–" : `#${Math.floor(value)}` }, ...[...PARTS].reverse().map(area)];
    const columns = [data.seqs, ...stacked(data)];
    if (data.trigger) { series.push(line("compacted at", "trigger", [6, 4])); columns.push(flat(data.trigger)); }
    if (data.window) { series.push(line("window", "window", [])); columns.push(flat(data.window)); }
    if (data.reported.some((value) => value !== null)) {
      series.push({ label: "reported", stroke: colour("reported"), width: 0, paths: () => null,
        points: { show: true, size: 5, fill: colour("reported") }, value: (plot, value) => value == null ? "–" : value.toLocaleString() });
      columns.push(data.reported);
    }
    const most = Math.max(data.window || 0, ...columns.slice(1).flat());
    figure.plot = new uPlot({
      width: place.clientWidth, height: 320, series, plugins: [markers(data)],
      padding: [18, 12, 0, 0],
      scales: { x: { time: false }, y: { range: [0, most * 1.02 || 1] } },
      axes: [{ ...axis, values: (plot, ticks) => ticks.map((tick) => Number.isInteger(tick) ? `#${tick}` : "") },
             { ...axis, size: 64, values: (plot, ticks) => ticks.map((tick) => tick >= 1000 ? `${tick / 1000}k` : tick) }],
      cursor: { drag: { x: true, y: false } },
    }, columns, place);
    figure.plot.over.addEventListener("click", (event) => open(figure, data, event));
  }
  function open(figure, data, event) {
    const { idx } = figure.plot.cursor;
    if (idx == null || figure.plot.select.width > 2) return;
    let at = idx;
    while (at < data.seqs.length && !Number.isInteger(data.seqs[at])) at += 1;
    const url = new URL(figure.dataset.view, location.href);
    if (at < data.seqs.length) url.searchParams.set("answer", data.seqs[at]);
    location.href = url;
  }
  async function load(figure) {
    const answer = await fetch(figure.dataset.src);
    if (!answer.ok) { $(".plot", figure).textContent = "The chart could not be read."; return; }
    figure.data = await answer.json();
    draw(figure, figure.data);
    figure.dataset.drawn = "yes";
  }
  function drawAll() {
    document.querySelectorAll("figure.chart").forEach((figure) => figure.data && draw(figure, figure.data));
  }
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 100); });
  htmx.onLoad((element) => {
    const figures = element.matches?.("figure.chart") ? [element] : [...element.querySelectorAll("figure.chart")];
    figures.forEach(load);
  });
})();
