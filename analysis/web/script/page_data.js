// The data that a page holds as JSON.

export const page = JSON.parse(document.getElementById("data").textContent);
