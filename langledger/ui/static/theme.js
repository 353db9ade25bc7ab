// Before the first paint, so that the page does not flash in the other colours.
"use strict";
try {
  const chosen = localStorage.getItem("langledger-theme");
  if (chosen) document.documentElement.dataset.theme = chosen;
} catch { /* storage is forbidden: the system's theme it is */ }
