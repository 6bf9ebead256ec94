"use strict";
(function () {
  var root = document.documentElement;
  var wanted = /theme=(dark|light)/.exec(location.hash);
  if (wanted) { root.dataset.theme = wanted[1]; }
  document.getElementById("theme").addEventListener("click", function () {
    var dark = root.dataset.theme ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  var words = document.getElementById("words");
  var mark = document.getElementById("mark");
  var count = document.getElementById("count");
  if (!words) { return; }
  document.getElementById("filter").hidden = false;
  var talks = Array.prototype.slice.call(document.querySelectorAll(".talk"));
  function apply() {
    var text = words.value.trim().toLowerCase();
    var shown = 0;
    talks.forEach(function (talk) {
      var any = false;
      Array.prototype.forEach.call(talk.querySelectorAll(".exchange"), function (exchange) {
        var fits = (!mark.value || exchange.dataset.marks.split(" ").indexOf(mark.value) >= 0)
          && (!text || exchange.textContent.toLowerCase().indexOf(text) >= 0);
        exchange.classList.toggle("away", !fits);
        if (fits) { any = true; shown += 1; }
      });
      talk.hidden = !any;
    });
    count.textContent = shown + " turns shown";
  }
  words.addEventListener("input", apply);
  mark.addEventListener("change", apply);
  apply();
})();
