document.getElementById("app").textContent = "loomrec";
