// Rows of one height, of which only those in sight are in the document.

/** Rows beyond what is in sight, above and below. */
const OVERSCAN = 6;

class Rows {
  /**
   * `scroller` scrolls; `body` holds the rows; `make()` gives a new row's element,
   * `fill(row, index)` says in it what the row at a place holds, `drawn()` hears of all, `before(first, last)` of those in sight before they are drawn.
   */
  constructor({ scroller, body, height, make, fill, drawn, before }) {
    Object.assign(this, { scroller, body, height, make, fill, drawn, before });
    this.count = 0;
    this.pool = [];
    this.wanted = false;
    scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(scroller);
  }

  /** Says how many rows there are, and draws before the next frame. */
  resize(count) {
    this.count = count;
    this.body.style.height = count * this.height + "px";
    this.draw();
  }

  draw() {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      this.now();
    });
  }

  /** What stands above the rows and stays there. */
  get headHeight() {
    return this.body.offsetTop;
  }

  get inSight() {
    return Math.max(1, Math.floor((this.scroller.clientHeight - this.headHeight) / this.height));
  }

  now() {
    const top = this.scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / this.height) - OVERSCAN);
    const visibleRows = Math.ceil(this.scroller.clientHeight / this.height) + 2 * OVERSCAN;
    const last = Math.min(this.count, first + visibleRows);
    if (this.before) {
      const from = Math.floor(top / this.height);
      this.before(from, Math.min(this.count, from + this.inSight + 1));
    }
    while (this.pool.length < last - first) {
      const row = this.make();
      this.pool.push(row);
      this.body.append(row);
    }
    while (this.pool.length > Math.max(last - first, 0)) this.pool.pop().remove();
    for (let index = first; index < last; index += 1) {
      const row = this.pool[index % this.pool.length];
      row.style.transform = `translateY(${index * this.height}px)`;
      this.fill(row, index);
    }
    if (this.drawn) this.drawn();
  }

  /** Scrolls as little as needed to have a row in sight. */
  reveal(index) {
    const above = index * this.height;
    const room = this.scroller.clientHeight - this.headHeight;
    if (above < this.scroller.scrollTop) this.scroller.scrollTop = above;
    else if (above + this.height > this.scroller.scrollTop + room) {
      this.scroller.scrollTop = above + this.height - room;
    }
    this.now();
  }

  get atEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.scroller;
    return scrollTop + clientHeight >= scrollHeight - 2 * this.height;
  }

  toEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
    this.now();
  }

  drop() {
    this.watch.disconnect();
  }
}
