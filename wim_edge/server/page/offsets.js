// Offsets are characters (code points) of a text; JavaScript counts UTF-16 units, so both are told apart.

export class Offsets {
  constructor(text) {
    this.text = text;
    this.wide = [];  // where characters of two units stand
    let at = 0;
    for (const c of text) {
      if (c.length === 2) this.wide.push(at);
      at += 1;
    }
    this.chars = at;
  }

  unit(at) {
    let low = 0, high = this.wide.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.wide[middle] < at) low = middle + 1;
      else high = middle;
    }
    return at + low;
  }

  // The character that a unit is in
  char(unit) {
    let low = 0, high = this.wide.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.wide[middle] + middle < unit) low = middle + 1;
      else high = middle;
    }
    return unit - low;
  }

  slice(start, end) {
    return this.text.slice(this.unit(start), this.unit(end));
  }
}
