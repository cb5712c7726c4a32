"use strict";
for (const header of document.querySelectorAll("th")) {
  const column = header.cellIndex, button = document.createElement("button");
  button.append(...header.childNodes);
  header.append(button);
  button.addEventListener("click", () => {
    const table = header.closest("table"), body = table.tBodies[0];
    const numeric = body.rows.length > 0 && "sort" in body.rows[0].cells[column].dataset;
    const down = header.ariaSort ? header.ariaSort === "ascending" : numeric;
    const key = (row) => {
      const cell = row.cells[column];
      return numeric ? (cell.dataset.sort === "" ? -Infinity : Number(cell.dataset.sort)) : cell.textContent;
    };
    const compare = (a, b) => numeric ? a - b : a.localeCompare(b, undefined, { numeric: true });
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort((a, b) => compare(a[0], b[0]) * (down ? -1 : 1) || 0);
    body.append(...rows.map((pair) => pair[1]));
    for (const other of header.parentNode.cells) other.ariaSort = null;
    header.ariaSort = down ? "descending" : "ascending";
  });
}
