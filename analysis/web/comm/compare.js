import { listenToTheme } from "../script/theme.js";

listenToTheme(document.getElementById("theme"), (printing) => {
  document.documentElement.classList.toggle("printing", printing);
});
