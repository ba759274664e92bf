// What the page was written with, which all scripts use.

const page = JSON.parse(document.getElementById("data").textContent);
const perSecond = 10 ** page.tick_digits;
